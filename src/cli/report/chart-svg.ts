// Turns the SVG of the chart library into SVG for a page with a strict policy: no style elements or attributes, and a tooltip on
// each bar. Bars without height are removed, because most pages would consist of them.
import { html } from "./html.ts";

const styleElement = /<style[^>]*>[\s\S]*?<\/style>/gu;
const styleOrClass = / (?:style|class)="[^"]*"/gu;
const emptyLine = /^\s*\n/gmu;
/** The library marks bars with the positions of their series and value. Paths of marks have these, too, but are not closed. */
const bar =
  /<path d="(?<shape>[^"]*Z)" fill="(?<fill>[^"]*)"[^>]*? ecmeta_series_index="(?<series>\d+)" ecmeta_data_index="(?<place>\d+)"[^>]*><\/path>\n?/gu;
const libraryData = / ecmeta_[a-z_]+="[^"]*"/gu;
const flat = /^M\S+ \S+l(?:0 |\S+ 0l0 0l)/u;

/** Without style elements, style attributes and classes: the styles of the page apply. */
export function unstyledSvg(svg: string): string {
  return svg.replace(styleElement, "").replace(styleOrClass, "").replace(emptyLine, "");
}

/** @param tooltipOf returns the tooltip of a bar by the positions of its series and value */
export function withTooltips(svg: string, tooltipOf: (series: number, place: number) => string): string {
  return svg
    .replace(bar, (_whole, shape: string, fill: string, series: string, place: string) => {
      if (flat.test(shape)) return "";
      const tooltip = tooltipOf(Number(series), Number(place));
      return html`<path class="bar" d="${shape}" fill="${fill}"><title>${tooltip}</title></path>`.text;
    })
    .replace(libraryData, "");
}
