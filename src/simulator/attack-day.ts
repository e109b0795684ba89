// Distributes the blocked requests of a day in the scenario `Attack`: background traffic that follows the time of day, and waves
// of attacks that start suddenly and fade. Everything is derived from a seed, so any row of any day can be generated at any time.
import { hashNumbers } from "./seeded-hash.ts";

const minutesPerDay = 1440;
const minuteMs = 60_000;
const wavesMax = 4;
/** How many planned days are cached: the pages of one query need the same days several times. */
const plannedDaysMax = 64;

interface Wave {
  /** The slot of the campaign, from 0. */
  readonly slot: number;
  readonly firstMinute: number;
  readonly minutes: number;
  /** The share of the day's requests, from 0 to 1. */
  readonly share: number;
}

export interface AttackMoment {
  /** Since the start of the day. */
  readonly timeMs: number;
  /** The slot of the campaign that sends the request; undefined for the background. */
  readonly slot: number | undefined;
}

interface Source {
  readonly slot: number | undefined;
  /** The share of the day's requests in each minute. */
  readonly weights: Float64Array;
}

export interface AttackDay {
  /**
   * @param share the share of the day's requests that come earlier, from 0 to below 1; a larger share never has an earlier time
   * @param drawn from 0 to below 1: selects the sender among the sources that are active at that time
   */
  momentOf(share: number, drawn: number): AttackMoment;
}

const plannedDays = new Map<string, AttackDay>();

export function attackDay(seed: number, day: number): AttackDay {
  const key = `${seed} ${day}`;
  const known = plannedDays.get(key);
  if (known !== undefined) return known;
  const planned = planDay(seed, day);
  const [oldest] = plannedDays.keys();
  if (plannedDays.size >= plannedDaysMax && oldest !== undefined) plannedDays.delete(oldest);
  plannedDays.set(key, planned);
  return planned;
}

function planDay(seed: number, day: number): AttackDay {
  const waves = wavesOf(seed, day);
  const sources: readonly Source[] = [
    { slot: undefined, weights: backgroundWeights(1 - waves.reduce((sum, { share }) => sum + share, 0)) },
    ...waves.map((wave) => ({ slot: wave.slot, weights: waveWeights(wave) })),
  ];
  const total = (minute: number): number => sources.reduce((sum, { weights }) => sum + (weights[minute] ?? 0), 0);
  /** The sum of the shares before each minute, and at the end of the day. */
  const before = new Float64Array(minutesPerDay + 1);
  for (let minute = 0; minute < minutesPerDay; minute += 1) before[minute + 1] = (before[minute] ?? 0) + total(minute);
  const whole = before[minutesPerDay] ?? 1;
  return {
    momentOf: (share, drawn) => {
      const wanted = share * whole;
      const minute = lastNotAbove(before, wanted);
      const inMinute = (wanted - (before[minute] ?? 0)) / total(minute);
      const timeMs = Math.min(Math.floor((minute + inMinute) * minuteMs), minutesPerDay * minuteMs - 1);
      let left = drawn * total(minute);
      for (const { slot, weights } of sources) {
        left -= weights[minute] ?? 0;
        if (left < 0) return { timeMs, slot };
      }
      return { timeMs, slot: undefined };
    },
  };
}

/** One day in four is quiet. On the others, two to four waves send more than half of the requests. */
function wavesOf(seed: number, day: number): Wave[] {
  const draw = (slot: number, salt: number): number => hashNumbers(seed, day, slot, salt);
  const isQuiet = draw(0, 30) % 4 === 0;
  const count = isQuiet ? 1 : 2 + (draw(0, 31) % (wavesMax - 1));
  return Array.from({ length: count }, (_, slot) => ({
    slot,
    firstMinute: draw(slot, 32) % (minutesPerDay - 120),
    minutes: 15 + (draw(slot, 33) % 106),
    share: (isQuiet ? 0.15 : 0.7 / count) * (0.7 + (draw(slot, 34) % 61) / 100),
  }));
}

/** Background traffic is highest in the afternoon, UTC. */
function backgroundWeights(share: number): Float64Array {
  const shape = Float64Array.from(
    { length: minutesPerDay },
    (_, minute) => 1 + 0.6 * Math.cos(((minute - 14 * 60) / minutesPerDay) * 2 * Math.PI),
  );
  return scaled(shape, share);
}

function waveWeights({ firstMinute, minutes, share }: Wave): Float64Array {
  const shape = Float64Array.from({ length: minutesPerDay }, (_, minute) => {
    const since = minute - firstMinute;
    if (since < 0 || since >= minutes) return 0;
    return Math.min(1, (since + 1) / 3) * Math.exp((-2 * since) / minutes);
  });
  return scaled(shape, share);
}

function scaled(shape: Float64Array, share: number): Float64Array {
  const sum = shape.reduce((total, weight) => total + weight, 0);
  return shape.map((weight) => (weight / sum) * share);
}

/** The last index whose value is not above the wanted one, by binary search. The first value is 0. */
function lastNotAbove(values: Float64Array, wanted: number): number {
  let low = 0;
  let high = values.length - 2;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((values[middle] ?? 0) <= wanted) low = middle;
    else high = middle - 1;
  }
  return low;
}
