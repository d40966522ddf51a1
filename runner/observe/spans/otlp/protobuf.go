package otlp

import (
	"encoding/binary"
	"encoding/hex"
)

// message is a protobuf message as it is written (protobuf.dev/programming-guides/encoding). Numbers of fields are those of the
// .proto files.
type message []byte

// Types of fields.
const (
	varint  = 0
	fixed64 = 1
	length  = 2
	fixed32 = 5
)

func (m message) tag(field, kind uint64) message {
	return binary.AppendUvarint(m, field<<3|kind)
}

func (m message) number(field, value uint64) message {
	return binary.AppendUvarint(m.tag(field, varint), value)
}

func (m message) bytes(field uint64, value []byte) message {
	return append(binary.AppendUvarint(m.tag(field, length), uint64(len(value))), value...)
}

func (m message) text(field uint64, value string) message { return m.bytes(field, []byte(value)) }

// id writes hexadecimal digits as bytes; none is no field.
func (m message) id(field uint64, digits string) message {
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) == 0 {
		return m
	}
	return m.bytes(field, raw)
}

func (r request) protobuf() message {
	var m message
	for _, of := range r.ResourceSpans {
		resource := message(nil).keyValues(1, of.Resource.Attributes)
		part := message(nil).bytes(1, resource)
		for _, within := range of.ScopeSpans {
			part = part.bytes(2, within.protobuf())
		}
		m = m.bytes(1, part)
	}
	return m
}

func (s scopeSpans) protobuf() message {
	m := message(nil).bytes(1, message(nil).text(1, s.Scope.Name).text(2, s.Scope.Version))
	for _, one := range s.Spans {
		m = m.bytes(2, one.protobuf())
	}
	return m
}

func (s span) protobuf() message {
	m := message(nil).id(1, s.TraceID).id(2, s.SpanID)
	if s.TraceState != "" {
		m = m.text(3, s.TraceState)
	}
	m = m.id(4, s.Parent).text(5, s.Name).number(6, uint64(s.Kind)) //nolint:gosec // a constant
	m = binary.LittleEndian.AppendUint64(m.tag(7, fixed64), s.Start)
	m = binary.LittleEndian.AppendUint64(m.tag(8, fixed64), s.End)
	m = m.keyValues(9, s.Attributes)
	if s.Status != nil {
		m = m.bytes(15, message(nil).text(2, s.Status.Message).number(3, uint64(s.Status.Code))) //nolint:gosec // a constant
	}
	return binary.LittleEndian.AppendUint32(m.tag(16, fixed32), s.Flags)
}

func (m message) keyValues(field uint64, all []keyValue) message {
	for _, pair := range all {
		m = m.bytes(field, message(nil).text(1, pair.Key).bytes(2, pair.Value.protobuf()))
	}
	return m
}

func (v anyValue) protobuf() message {
	if v.Number != nil {
		return message(nil).number(3, uint64(*v.Number)) //nolint:gosec // negative ones are written like this
	}
	return message(nil).text(1, v.Text)
}
