package mcp

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// plainSchemas gives each value of the tools' schemas one type. The library adds null to lists and pointers; no answer has one, those of
// arguments are left out before they are checked, and some providers of models refuse a list of types. Answers may get more fields.
func plainSchemas(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		list, ok := result.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return result, err
		}
		for i, tool := range list.Tools {
			plain := *tool
			if plain.InputSchema, err = replaced(tool.InputSchema, orNull(), `"type":"$1"`); err != nil {
				return nil, err
			}
			if plain.OutputSchema, err = replaced(tool.OutputSchema, orNull(), `"type":"$1"`); err != nil {
				return nil, err
			}
			if plain.OutputSchema, err = replaced(plain.OutputSchema, noMore(), ""); err != nil {
				return nil, err
			}
			list.Tools[i] = &plain
		}
		return list, nil
	}
}

var (
	orNull = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"type":\["null","(\w+)"\]`) })
	noMore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`,"additionalProperties":false`) })
)

// replaced is a schema in whose text what matches is replaced: its properties keep their order.
func replaced(schema any, what *regexp.Regexp, by string) (any, error) {
	text, err := json.Marshal(schema)
	return json.RawMessage(what.ReplaceAll(text, []byte(by))), err
}
