// Command decode reads an ExportTraceServiceRequest, with types that OpenTelemetry generates, and prints it as JSON. Of an
// argument "json" it reads JSON, else protobuf. A field that OpenTelemetry does not know is an error.
package main

import (
	"fmt"
	"io"
	"os"

	tracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func main() {
	if err := decode(len(os.Args) > 1 && os.Args[1] == "json"); err != nil {
		fmt.Fprintln(os.Stderr, "decode:", err)
		os.Exit(1)
	}
}

func decode(json bool) error {
	raw, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if json {
		// OTLP's JSON has ids in hexadecimal, which protojson reads as base64: it only says whether the fields are known.
		if err := protojson.Unmarshal(raw, &tracev1.ExportTraceServiceRequest{}); err != nil {
			return err
		}
		_, err = os.Stdout.Write(raw)
		return err
	}
	var request tracev1.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &request); err != nil {
		return err
	}
	if err := known(request.ProtoReflect()); err != nil {
		return err
	}
	text, err := protojson.Marshal(&request)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

// known reports a field without a name, of a message or one within it.
func known(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("%s has unknown fields", m.Descriptor().FullName())
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() == nil {
			return true
		}
		if !field.IsList() {
			err = known(value.Message())
			return err == nil
		}
		for i := range value.List().Len() {
			if err = known(value.List().Get(i).Message()); err != nil {
				return false
			}
		}
		return true
	})
	return err
}
