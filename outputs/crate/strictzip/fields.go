package strictzip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// fields reads fields of headers, up to the first error. What is read after that is 0.
type fields struct {
	from io.Reader
	err  error
}

func fieldsAt(from io.ReaderAt, at, size uint64) *fields {
	return &fields{from: io.NewSectionReader(from, int64(at), int64(size))}
}

func fieldsOf(data []byte) *fields { return &fields{from: bytes.NewReader(data)} }

func (f *fields) bytes(n uint16) []byte {
	data := make([]byte, n)
	if f.err == nil {
		_, f.err = io.ReadFull(f.from, data)
	}
	if f.err != nil {
		clear(data)
	}
	return data
}

func (f *fields) u16() uint16 { return binary.LittleEndian.Uint16(f.bytes(2)) }
func (f *fields) u32() uint32 { return binary.LittleEndian.Uint32(f.bytes(4)) }
func (f *fields) u64() uint64 { return binary.LittleEndian.Uint64(f.bytes(8)) }

// left reports whether there is more.
func (f *fields) left() bool {
	_, err := io.ReadFull(f.from, make([]byte, 1))
	return err == nil
}

// extra are the extra fields of a header (section 4.5). Those that are accepted do not change names or contents, except
// for two, which are checked.
type extra struct {
	zip64 []byte // nil: none
	path  []byte // of Info-ZIP's Unicode path; nil: none
	err   error
}

func readExtra(data []byte) (x extra) {
	r := fieldsOf(data)
	seen := map[uint16]bool{}
	for len(data) > 0 {
		id, size := r.u16(), r.u16()
		field := r.bytes(size)
		if r.err != nil || seen[id] {
			return extra{err: errors.New("its extra fields are damaged")}
		}
		seen[id] = true
		data = data[4+len(field):]
		switch id {
		case 0x0001:
			x.zip64 = field
		case 0x7075:
			x.path = field
		case 0x000a, 0x5455, 0x5855, 0x7855, 0x7875: // times, and ids of users
		default:
			return extra{err: errors.New("it has an extra field that some tools may take for its name or contents")}
		}
	}
	return x
}

// checkPath refuses a second name (section 4.6.9) that is another.
func (x extra) checkPath(name string) error {
	if x.path == nil {
		return nil
	}
	r := fieldsOf(x.path)
	version := r.bytes(1)[0]
	crc := r.u32()
	if r.err != nil || version != 1 || crc != crc32.ChecksumIEEE([]byte(name)) || string(x.path[5:]) != name {
		return errors.New("it has a second name")
	}
	return nil
}
