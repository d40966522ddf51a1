package mcp

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

const (
	// mostID bounds an id in bytes.
	mostID = 256
	// mostNumber bounds an id that is a number, since the library and JavaScript keep numbers as 64-bit floats.
	mostNumber = 1<<53 - 1
)

// parse reads a message. If the line is none, it returns the error to answer with and the id, or no id if that is not known; the
// library would end the connection. For a response that cannot be read it returns neither message nor error, since nobody answers a
// response.
func parse(line []byte) (message jsonrpc.Message, id json.RawMessage, bad *rpc.Error) {
	if !utf8.Valid(line) {
		return nil, nil, rpc.Errorf(rpc.CodeParse, "the message is not UTF-8; JSON is (RFC 8259)")
	}
	var fields map[string]json.RawMessage
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(line, &fields); {
	case errors.As(err, &syntax):
		return nil, nil, rpc.Errorf(rpc.CodeParse, "malformed JSON: %v; give one JSON object a message", err)
	case err != nil || fields == nil:
		return nil, nil, rpc.Errorf(rpc.CodeInvalidRequest, "this is no JSON object; give one message at a time, also instead of an array of several")
	}
	_, isRequest := fields["method"]
	if fields["result"] != nil && !isRequest || fields["error"] != nil && !isRequest {
		message, _ = jsonrpc.DecodeMessage(line)
		return message, nil, nil
	}
	id, known := fields["id"]
	if known && !validID(id) {
		return nil, nil, rpc.Errorf(rpc.CodeInvalidRequest, "the id is no string of at most %d bytes and no integer of at most 53 bits", mostID)
	}
	if !isRequest {
		return nil, id, rpc.Errorf(rpc.CodeInvalidRequest, "method is missing")
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, id, rpc.Errorf(rpc.CodeInvalidRequest, "no request: %v", err)
	}
	return message, id, nil
}

// validID reports whether an id comes back as it was given.
func validID(id json.RawMessage) bool {
	if len(id) > 0 && id[0] == '"' {
		return len(id) <= mostID
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -mostNumber <= n && n <= mostNumber
}
