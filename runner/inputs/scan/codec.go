package scan

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// The form of a cached tree: memoryMagic; the file system's id, 8 bytes; records to the end, each of a directory: device,
// inode, change time in seconds and nanoseconds, number of entries, length of the names of its subdirectories, these names,
// each ended by NUL; and CRC-32C of all before, 4 bytes. The numbers of a record are varints, the seconds a signed one; the
// others are little-endian.
const (
	memoryMagic = "scidex-oci scan 1\n" // the number is the version
	recordBytes = 24                    // of a record without its names, about
)

var errMemory = errors.New("not a whole file of this version")

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// encode writes the records that are current.
func (m *memory) encode(fsid uint64) []byte {
	b := append(make([]byte, 0, m.size+len(memoryMagic)), memoryMagic...)
	b = binary.LittleEndian.AppendUint64(b, fsid)
	for _, r := range m.records {
		if !r.current {
			continue
		}
		b = binary.AppendUvarint(b, r.id.Dev)
		b = binary.AppendUvarint(b, r.id.Ino)
		b = binary.AppendVarint(b, r.ctime.Sec)
		b = binary.AppendUvarint(b, uint64(r.ctime.Nsec))
		b = binary.AppendUvarint(b, uint64(r.entries))
		b = binary.AppendUvarint(b, uint64(len(r.subdirs)))
		b = append(b, r.subdirs...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

// decodeMemory reads what encode wrote for the same file system.
func decodeMemory(raw []byte, fsid uint64) ([]record, error) {
	end := len(raw) - crc32.Size
	if end < len(memoryMagic) || string(raw[:len(memoryMagic)]) != memoryMagic ||
		crc32.Checksum(raw[:end], castagnoli()) != binary.LittleEndian.Uint32(raw[end:]) {
		return nil, errMemory
	}
	d := decoder{rest: raw[len(memoryMagic):end]}
	if d.fixed() != fsid {
		return nil, errMemory
	}
	var records []record
	for len(d.rest) > 0 {
		r := record{id: inode.ID{Dev: d.unsigned(maxUint), Ino: d.unsigned(maxUint)}}
		r.ctime.Sec = d.signed()
		r.ctime.Nsec = uint32(d.unsigned(999_999_999))
		r.entries = int64(d.unsigned(maxEntries))
		r.subdirs = d.names()
		records = append(records, r)
	}
	if d.bad {
		return nil, errMemory
	}
	return records, nil
}

const (
	maxUint    = 1<<64 - 1
	maxEntries = 1 << 48 // more than a directory can have
)

// decoder decodes values from the start of rest. After the first bad one all are zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) take(n int) []byte {
	if n <= 0 || n > len(d.rest) {
		d.bad, d.rest = true, nil
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) fixed() uint64 {
	if raw := d.take(8); raw != nil {
		return binary.LittleEndian.Uint64(raw)
	}
	return 0
}

func (d *decoder) unsigned(most uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if d.take(n) == nil || v > most {
		d.bad = true
		return 0
	}
	return v
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.rest)
	if d.take(n) == nil {
		return 0
	}
	return v
}

// names decodes a list of names; none of them may lead out of its directory.
func (d *decoder) names() string {
	n := d.unsigned(uint64(len(d.rest)))
	if n == 0 {
		return ""
	}
	list := string(d.take(int(n)))
	all, ended := strings.CutSuffix(list, "\x00")
	if !ended {
		d.bad = true
	}
	for name := range strings.SplitSeq(all, "\x00") {
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			d.bad = true
		}
	}
	return list
}
