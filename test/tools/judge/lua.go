package main

// Runs Lua as Argo CD 3.5 does (util/lua/lua.go there): gopher-lua with the base, package and table libraries and the
// harmless half of os, no string library, one second at most.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	luajson "layeh.com/gopher-json"
)

const luaTimeout = time.Second

var healthCodes = map[string]bool{
	"Unknown": true, "Progressing": true, "Suspended": true, "Healthy": true, "Degraded": true, "Missing": true,
}

type impactedResource struct {
	Operation string         `json:"operation"`
	Resource  map[string]any `json:"resource"`
}

func judgeHealth(asked question) (answer, error) {
	encoded, err := runLua(asked.Script, asked.Object)
	if err != nil {
		return answer{}, err
	}
	var given struct{ Status, Message string }
	if err := json.Unmarshal(encoded, &given); err != nil {
		return answer{}, err
	}
	if !healthCodes[given.Status] {
		return answer{}, fmt.Errorf("%q is no health status", given.Status)
	}
	return answer{Status: given.Status, Message: given.Message}, nil
}

func judgeDiscovery(asked question) (answer, error) {
	encoded, err := runLua(asked.Script, asked.Object)
	if err != nil {
		return answer{}, err
	}
	// An empty table is an array to the encoder.
	if string(encoded) == "[]" {
		return answer{Actions: map[string]any{}}, nil
	}
	actions := map[string]any{}
	err = json.Unmarshal(encoded, &actions)
	return answer{Actions: actions}, err
}

func judgeAction(asked question) (answer, error) {
	encoded, err := runLua(asked.Script, asked.Object)
	if err != nil {
		return answer{}, err
	}
	// One object is to be patched; an array says what is to be done with each of its objects.
	var impacted []impactedResource
	if strings.HasPrefix(string(encoded), "[") {
		if err := json.Unmarshal(encoded, &impacted); err != nil {
			return answer{}, err
		}
	} else {
		patched := map[string]any{}
		if err := json.Unmarshal(encoded, &patched); err != nil {
			return answer{}, err
		}
		impacted = []impactedResource{{Operation: "patch", Resource: patched}}
	}
	for _, one := range impacted {
		switch one.Operation {
		case "patch":
			keepEmptyMaps(one.Resource, asked.Object)
		case "create":
		default:
			return answer{}, fmt.Errorf("there is no operation %q", one.Operation)
		}
	}
	return answer{Resources: impacted}, nil
}

// keepEmptyMaps gives empty maps back what Lua made of them, an empty array, as Argo CD does before it patches.
func keepEmptyMaps(changed, before map[string]any) map[string]any {
	for key, earlier := range before {
		changed[key] = keepEmptyMap(changed[key], earlier)
		if changed[key] == nil {
			delete(changed, key)
		}
	}
	return changed
}

func keepEmptyMap(now, earlier any) any {
	earlierMap, wasMap := earlier.(map[string]any)
	switch value := now.(type) {
	case map[string]any:
		if wasMap {
			return keepEmptyMaps(value, earlierMap)
		}
	case []any:
		if wasMap && len(value) == 0 {
			return map[string]any{}
		}
		earlierItems, _ := earlier.([]any)
		for place := range min(len(value), len(earlierItems)) {
			value[place] = keepEmptyMap(value[place], earlierItems[place])
		}
	}
	return now
}

// runLua gives the table that the script returns, as JSON.
func runLua(script string, object map[string]any) ([]byte, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	} {
		opening := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(opening, lua.LString(library.name)); err != nil {
			return nil, err
		}
	}
	state.PreloadModule(lua.OsLibName, func(state *lua.LState) int {
		state.Push(state.SetFuncs(state.NewTable(), map[string]lua.LGFunction{"date": date}))
		return 1
	})
	ctx, cancel := context.WithTimeout(context.Background(), luaTimeout)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	returned := state.Get(-1)
	if returned.Type() != lua.LTTable {
		return nil, fmt.Errorf("the script returns a %s and no table", returned.Type())
	}
	return luajson.Encode(returned)
}

// date knows what Argo CD's own scripts ask for: UTC, by the letters of strftime that the table has.
func date(state *lua.LState) int {
	format := state.CheckString(1)
	now := time.Now()
	if strings.HasPrefix(format, "!") {
		now = now.UTC()
	}
	replaced := strings.NewReplacer(
		"!", "", "%Y", now.Format("2006"), "%m", now.Format("01"), "%d", now.Format("02"), "%X", now.Format("15:04:05"),
		"%H", now.Format("15"), "%M", now.Format("04"), "%S", now.Format("05"),
	).Replace(format)
	state.Push(lua.LString(replaced))
	return 1
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch known := value.(type) {
	case bool:
		return lua.LBool(known)
	case float64:
		return lua.LNumber(known)
	case string:
		return lua.LString(known)
	case []any:
		items := state.CreateTable(len(known), 0)
		for _, item := range known {
			items.Append(toLua(state, item))
		}
		return items
	case map[string]any:
		fields := state.CreateTable(0, len(known))
		for name, field := range known {
			fields.RawSetH(lua.LString(name), toLua(state, field))
		}
		return fields
	}
	return lua.LNil
}
