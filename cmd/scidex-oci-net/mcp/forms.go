package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// add adds a tool, whose arguments are the fields of In.
func add[In, Out any](t *tools, s *mcp.Server, tool *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	t.arguments[tool.Name] = reflect.TypeFor[In]()
	mcp.AddTool(s, tool, h)
}

// forgive reads the other forms that models give arguments in, before their schema is checked, and refuses the rest by a sentence.
func (t *tools) forgive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		call, ok := r.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, r)
		}
		if in := t.arguments[call.Params.Name]; in != nil {
			plain, err := plainArguments(call.Params.Name, in, call.Params.Arguments)
			if err != nil {
				refusal := &mcp.CallToolResult{}
				refusal.SetError(err)
				return refusal, nil
			}
			call.Params.Arguments = plain
		}
		answer, err := next(ctx, method, r)
		select {
		case <-ctx.Done(): // the library sends the answer all the same
			canceled := &mcp.CallToolResult{}
			canceled.SetError(errors.New("canceled: its client has canceled the call, or has gone"))
			return canceled, nil
		default:
			return answer, err
		}
	}
}

// plainArguments are the arguments of a call under the names and in the types that the tool has for them, which are those of in.
func plainArguments(tool string, in reflect.Type, given json.RawMessage) (plain json.RawMessage, err error) {
	if kindOf(given) == isNull {
		given = json.RawMessage("{}")
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(given, &all) == nil {
		if _, ok := in.FieldByName("Run"); ok {
			rename(all, "id", "run")
		}
		if _, ok := in.FieldByName("Path"); ok {
			splitURI(all)
		}
		switch string(all["wait"]) {
		case "true":
			delete(all, "wait")
		case "false":
			all["wait"] = json.RawMessage("0")
		}
		if f, ok := in.FieldByName("Files"); ok && f.Type == reflect.TypeFor[[]file]() && kindOf(all["files"]) != isNull {
			if all["files"], err = plainFiles(all["files"]); err != nil {
				return nil, err
			}
		}
		if given, err = json.Marshal(all); err != nil {
			return nil, err
		}
	}
	r := &reader{tool: tool}
	r.add(in, "")
	return r.object(in, "", given)
}

// rename gives a field its name, if nothing has that.
func rename(fields map[string]json.RawMessage, from, to string) {
	if _, taken := fields[to]; !taken && fields[from] != nil {
		fields[to] = fields[from]
		delete(fields, from)
	}
}

// splitURI gives the run and the path that a URI of an output names.
func splitURI(fields map[string]json.RawMessage) {
	var uri string
	if fields["run"] != nil || fields["path"] != nil || json.Unmarshal(fields["uri"], &uri) != nil {
		return
	}
	if run, _, path, ok := parseURI(uri); ok {
		fields["run"], _ = json.Marshal(run) // a text
		fields["path"], _ = json.Marshal(path)
		delete(fields, "uri")
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
