package mcpcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments are the names of a tool's arguments.
type arguments []string

// add adds a tool, whose arguments are the fields of In.
func add[In, Out any](t *tools, s *mcp.Server, tool *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	var names arguments
	for _, field := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	t.arguments[tool.Name] = names
	mcp.AddTool(s, tool, h)
}

// forgive reads the other forms that models give arguments in, before their schema is checked, and refuses the rest by a sentence.
func (t *tools) forgive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if call, ok := r.(*mcp.CallToolRequest); ok {
			plain, err := t.arguments[call.Params.Name].plain(call.Params.Name, call.Params.Arguments)
			if err != nil {
				refusal := &mcp.CallToolResult{}
				refusal.SetError(err)
				return refusal, nil
			}
			call.Params.Arguments = plain
		}
		return next(ctx, method, r)
	}
}

// plain are the arguments of a call under the names that the tool has for them.
func (names arguments) plain(tool string, given json.RawMessage) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(given, &all) // the schema says what is wrong
	if len(names) == 0 || all == nil {
		return given, nil
	}
	if slices.Contains(names, "run") {
		rename(all, "id", "run")
	}
	var err error
	if files, ok := all["files"]; ok {
		if all["files"], err = plainFiles(files); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%s has no argument %s; it has %s", tool, shown(name), strings.Join(names, ", "))
		}
	}
	return json.Marshal(all)
}

// rename gives a field its name, if nothing has that.
func rename(fields map[string]json.RawMessage, from, to string) {
	if _, taken := fields[to]; !taken && fields[from] != nil {
		fields[to] = fields[from]
		delete(fields, from)
	}
}

// plainFiles is the list of files that an object has by their names, as text or as what a file of a list has.
func plainFiles(given json.RawMessage) (json.RawMessage, error) {
	var list []map[string]json.RawMessage
	var byName map[string]json.RawMessage
	if json.Unmarshal(given, &byName) == nil && isFile(byName) {
		list = append(list, byName)
	} else if byName != nil {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			file := map[string]json.RawMessage{}
			if json.Unmarshal(byName[name], &file) != nil || file == nil {
				file = map[string]json.RawMessage{"text": byName[name]}
			}
			file["name"], _ = json.Marshal(name)
			list = append(list, file)
		}
	} else if json.Unmarshal(given, &list) != nil {
		return nil, errors.New(`files: give a list such as [{"name": "in.csv", "text": "a,b\n"}]`)
	}
	for _, file := range list {
		rename(file, "path", "name")
		rename(file, "content", "text")
	}
	return json.Marshal(list)
}

// isFile reports whether an object is one file, and not contents by their names.
func isFile(object map[string]json.RawMessage) bool {
	named := object["name"] != nil || object["path"] != nil
	for field := range object {
		named = named && slices.Contains([]string{"name", "path", "text", "content", "base64"}, field)
	}
	return named
}
