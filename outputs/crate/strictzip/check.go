package strictzip

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Flags of an entry (APPNOTE.TXT 6.3.10, section 4.4.4). Those of encryption, patches and masked headers are refused.
const (
	flagDescriptor = 1 << 3
	flagUTF8       = 1 << 11
	flagsTaken     = 1<<1 | 1<<2 | flagDescriptor | flagUTF8
)

const (
	stored   = 0
	deflated = 8
)

// saturated is the value of a field of 32 bits that is in a zip64 field instead.
const saturated = 1<<32 - 1

var errNoZip = errors.New("it is no zip archive, or something follows the end of its directory, such as a comment; pack its files anew")

// entry is what a header says.
type entry struct {
	name          string
	flags, method uint16
	modified      uint32
	crc           uint32
	packed, size  uint64 // bytes
	offset        uint64 // of its local header
}

// check reads all headers of an archive.
func check(from io.ReaderAt, size int64) ([]entry, error) {
	d, err := findDirectory(from, uint64(max(size, 0)))
	if err != nil {
		return nil, err
	}
	entries, err := d.read(from)
	if err != nil {
		return nil, err
	}
	if err := checkNames(entries); err != nil {
		return nil, err
	}
	at := uint64(0)
	for _, e := range slices.SortedStableFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.offset, b.offset) }) {
		if e.offset != at {
			return nil, fmt.Errorf("%q begins at byte %d and not at %d, where what is before it ends", e.name, e.offset, at)
		}
		if at, err = e.checkLocal(from, at, d.offset); err != nil {
			return nil, fmt.Errorf("%q: %w", e.name, err)
		}
	}
	if at != d.offset {
		return nil, fmt.Errorf("the central directory begins at byte %d and not at %d, where the last file ends", d.offset, at)
	}
	return entries, nil
}

// directory is the place of the central directory.
type directory struct{ entries, size, offset uint64 }

const (
	endSize     = 22 // without a comment
	locatorSize = 20
	end64Size   = 56 // without extensible data
)

// findDirectory reads the end of an archive (sections 4.3.14 to 4.3.16), which the directory comes before without a gap.
func findDirectory(from io.ReaderAt, size uint64) (d directory, err error) {
	if size < endSize {
		return d, errNoZip
	}
	end := size - endSize
	r := fieldsAt(from, end, endSize)
	if r.u32() != 0x06054b50 {
		return d, errNoZip
	}
	disk, first := r.u16(), r.u16()
	here, entries, bytes, offset := uint64(r.u16()), uint64(r.u16()), uint64(r.u32()), uint64(r.u32())
	if comment := r.u16(); r.err != nil || disk|first != 0 || comment != 0 || here != entries {
		return d, cmp.Or(r.err, errors.New("it has a comment or several parts"))
	}
	d = directory{entries, bytes, offset}
	wide := false
	if end >= locatorSize+end64Size {
		l := fieldsAt(from, end-locatorSize, locatorSize)
		if wide = l.u32() == 0x07064b50; wide {
			end -= locatorSize + end64Size
			if disk, at, all := l.u32(), l.u64(), l.u32(); disk != 0 || at != end || all != 1 {
				return d, errors.New("the zip64 locator does not lead to the record in front of it")
			}
			if d, err = readEnd64(from, end); err != nil {
				return d, err
			}
		}
	}
	for _, f := range []struct{ narrow, wide, most uint64 }{{entries, d.entries, 1<<16 - 1}, {bytes, d.size, saturated}, {offset, d.offset, saturated}} {
		if f.narrow == f.most && !wide || f.narrow != f.most && f.narrow != f.wide {
			return d, errors.New("the two ends of the central directory disagree")
		}
	}
	if d.offset > end || end-d.offset != d.size {
		return d, errors.New("the central directory does not lie in front of its end")
	}
	return d, nil
}

func readEnd64(from io.ReaderAt, at uint64) (d directory, err error) {
	r := fieldsAt(from, at, end64Size)
	signature, size := r.u32(), r.u64()
	_ = r.u32() // versions
	disk, first, here := r.u32(), r.u32(), r.u64()
	d = directory{r.u64(), r.u64(), r.u64()}
	if r.err != nil || signature != 0x06064b50 || size != end64Size-12 || disk|first != 0 || here != d.entries {
		return d, cmp.Or(r.err, errors.New("the zip64 end of the central directory is damaged"))
	}
	return d, nil
}

// read reads the headers of the directory (section 4.3.12).
func (d directory) read(from io.ReaderAt) (entries []entry, err error) {
	r := &fields{from: bufio.NewReaderSize(io.NewSectionReader(from, int64(d.offset), int64(d.size)), 64<<10)}
	for range d.entries {
		e, err := readCentral(r)
		if err != nil {
			return nil, fmt.Errorf("entry %d, %q: %w", len(entries)+1, e.name, err)
		}
		entries = append(entries, e)
	}
	if r.bytes(1); !errors.Is(r.err, io.EOF) {
		return nil, cmp.Or(r.err, errors.New("the central directory has more than its entries"))
	}
	return entries, nil
}

func readCentral(r *fields) (e entry, err error) {
	if signature := r.u32(); r.err != nil || signature != 0x02014b50 {
		return e, cmp.Or(r.err, errors.New("it is no header of a central directory"))
	}
	creator := r.u16() >> 8
	_ = r.u16() // the version needed
	name, extra := e.readCommon(r)
	comment, disk := r.u16(), r.u16()
	_ = r.u16() // internal attributes
	attributes := r.u32()
	e.offset = uint64(r.u32())
	e.name = string(r.bytes(name))
	x := readExtra(r.bytes(extra))
	r.bytes(comment)
	if err := cmp.Or(r.err, x.err, e.widen(x.zip64, &e.size, &e.packed, &e.offset)); err != nil {
		return e, err
	}
	if disk != 0 {
		return e, errors.New("it is in another part")
	}
	return e, cmp.Or(x.checkPath(e.name), e.check(), e.checkAttributes(creator, attributes))
}

// readCommon reads the fields that both headers have in the same order, and returns the lengths of name and extra fields.
func (e *entry) readCommon(r *fields) (name, extra uint16) {
	e.flags, e.method, e.modified, e.crc = r.u16(), r.u16(), r.u32(), r.u32()
	e.packed, e.size = uint64(r.u32()), uint64(r.u32())
	return r.u16(), r.u16()
}

// widen takes the saturated fields from a zip64 field, which has no others (section 4.5.3).
func (e *entry) widen(zip64 []byte, narrow ...*uint64) error {
	r := fieldsOf(zip64)
	for _, field := range narrow {
		if *field == saturated {
			*field = r.u64()
		}
	}
	if r.err != nil || r.left() {
		return errors.New("its zip64 field does not have the sizes that it is to have")
	}
	return nil
}

// check refuses what tools treat in different ways.
func (e *entry) check() error {
	switch {
	case e.flags&^flagsTaken != 0:
		return fmt.Errorf("it is encrypted, or has other flags (%#x) that not all tools know", e.flags)
	case e.method != stored && e.method != deflated:
		return fmt.Errorf("it is packed by method %d, and not stored or deflated", e.method)
	case e.method == stored && e.packed != e.size:
		return errors.New("it is stored, and its sizes differ")
	case e.method == stored && e.flags&flagDescriptor != 0 && e.size > 0:
		return errors.New("it is stored without its size in front")
	}
	return nil
}

// checkAttributes refuses attributes by which tools disagree on an entry's type: its name says whether it is a
// directory, and only Unix attributes say other types (archive/zip does not take their symbolic links for regular
// files).
func (e *entry) checkAttributes(creator uint16, attributes uint32) error {
	const unix, darwin = 3, 19
	dir := e.isDir()
	switch kind := attributes >> 28; { // S_IFMT
	case kind == 4 && !dir, kind == 8 && dir, attributes&0x10 != 0 && !dir: // 0x10: a directory of MS-DOS
		return errors.New("its name and its attributes disagree whether it is a directory")
	case dir && e.size > 0:
		return errors.New("it is a directory that has contents")
	case kind != 0 && kind != 4 && kind != 8 && creator != unix && creator != darwin:
		return errors.New("it has a type that not all tools know")
	}
	return nil
}

// checkLocal compares the header in front of the contents with that of the central directory, and returns where the entry ends
// (sections 4.3.7 and 4.3.9).
func (e *entry) checkLocal(from io.ReaderAt, at, most uint64) (end uint64, err error) {
	r := fieldsAt(from, at, most-at)
	if signature := r.u32(); r.err != nil || signature != 0x04034b50 {
		return 0, cmp.Or(r.err, errors.New("no header is in front of it"))
	}
	_ = r.u16() // the version needed
	l := entry{}
	name, extra := l.readCommon(r)
	l.name = string(r.bytes(name))
	x := readExtra(r.bytes(extra))
	if err := cmp.Or(r.err, x.err, x.checkPath(l.name)); err != nil {
		return 0, err
	}
	if err := e.compare(l, x.zip64); err != nil {
		return 0, err
	}
	at += 30 + uint64(name) + uint64(extra)
	if at > most || e.packed > most-at {
		return 0, errors.New("it does not lie in front of the central directory")
	}
	at += e.packed
	if e.flags&flagDescriptor == 0 {
		return at, nil
	}
	return e.checkDescriptor(from, at, most, x.zip64 != nil)
}

// compare compares the local header. With a descriptor it may have zeros for what was not known yet.
func (e *entry) compare(l entry, zip64 []byte) error {
	switch {
	case l.name != e.name:
		return fmt.Errorf("the header in front of it names %q", l.name)
	case l.flags != e.flags || l.method != e.method || l.modified != e.modified:
		return errors.New("the header in front of it has other flags, another method or another time")
	}
	unknown := e.flags&flagDescriptor != 0
	if unknown && zip64 != nil && l.size == 0 && l.packed == 0 {
		l.size, l.packed = saturated, saturated
	}
	if zip64 != nil && (l.size != saturated || l.packed != saturated) {
		return errors.New("the header in front of it has its sizes twice")
	}
	if err := l.widen(zip64, &l.size, &l.packed); err != nil {
		return err
	}
	same := func(there, here uint64) bool { return there == here || unknown && there == 0 }
	if !same(uint64(l.crc), uint64(e.crc)) || !same(l.size, e.size) || !same(l.packed, e.packed) {
		return errors.New("the header in front of it has other sizes or another checksum")
	}
	return nil
}

// checkDescriptor compares what follows the contents, with 64 bits for sizes if the entry has a zip64 field or is so large.
func (e *entry) checkDescriptor(from io.ReaderAt, at, most uint64, zip64 bool) (end uint64, err error) {
	r := fieldsAt(from, at, most-at)
	signature, crc := r.u32(), r.u32()
	var packed, size uint64
	if zip64 || e.packed >= saturated || e.size >= saturated {
		at += 24
		packed, size = r.u64(), r.u64()
	} else {
		at += 16
		packed, size = uint64(r.u32()), uint64(r.u32())
	}
	if r.err != nil || signature != 0x08074b50 || crc != e.crc || packed != e.packed || size != e.size {
		return 0, cmp.Or(r.err, errors.New("what follows it has other sizes or another checksum"))
	}
	return at, nil
}
