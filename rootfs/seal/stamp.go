package seal

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// stamp is the part of lstat(2) that must not change. It excludes the device, whose number may change on a boot, and
// access times, which reading changes.
type stamp struct {
	Ino       uint64
	Size      int64
	MtimeSec  int64
	CtimeSec  int64
	MtimeNsec uint32
	CtimeNsec uint32
	Mode      uint32
	Nlink     uint32
	UID, GID  uint32
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{
		Ino: st.Ino, Size: st.Size,
		MtimeSec: st.Mtim.Sec, MtimeNsec: uint32(st.Mtim.Nsec),
		CtimeSec: st.Ctim.Sec, CtimeNsec: uint32(st.Ctim.Nsec),
		Mode: st.Mode, Nlink: uint32(st.Nlink), UID: st.Uid, GID: st.Gid,
	}
}

// A stamp in the record is stampBytes of its fields in order, little-endian, then the lengths of the directory and of the
// name as 16 bits each, and both.
const (
	stampBytes = 4*8 + 6*4
	stampFixed = stampBytes + 2 + 2
)

func appendStamp(b []byte, e *entry) []byte {
	s := stampOf(&e.st)
	le := binary.LittleEndian
	for _, v := range []uint64{s.Ino, uint64(s.Size), uint64(s.MtimeSec), uint64(s.CtimeSec)} {
		b = le.AppendUint64(b, v)
	}
	for _, v := range []uint32{s.MtimeNsec, s.CtimeNsec, s.Mode, s.Nlink, s.UID, s.GID} {
		b = le.AppendUint32(b, v)
	}
	dir, base := cut(e.path)
	b = le.AppendUint16(b, uint16(len(dir)))
	b = le.AppendUint16(b, uint16(len(base)))
	return append(append(b, dir...), base...)
}

// stamped is a stamp of a record, as bytes.
type stamped struct {
	fields []byte
	dir    []byte
	base   []byte
}

// cutStamp splits off the first stamp; the digest was verified.
func cutStamp(b []byte) (s stamped, rest []byte, err error) {
	if len(b) < stampFixed {
		return s, nil, fmt.Errorf("%w: a stamp is cut off", ErrRecord)
	}
	dir := int(binary.LittleEndian.Uint16(b[stampBytes:]))
	base := int(binary.LittleEndian.Uint16(b[stampBytes+2:]))
	end := stampFixed + dir + base
	if len(b) < end {
		return s, nil, fmt.Errorf("%w: a stamp is cut off", ErrRecord)
	}
	s.fields = b[:stampBytes]
	s.dir = b[stampFixed:][:dir]
	s.base = b[stampFixed+dir : end]
	return s, b[end:], nil
}

func (s stamped) stamp() stamp {
	le, b := binary.LittleEndian, s.fields
	return stamp{
		Ino: le.Uint64(b), Size: int64(le.Uint64(b[8:])),
		MtimeSec: int64(le.Uint64(b[16:])), CtimeSec: int64(le.Uint64(b[24:])),
		MtimeNsec: le.Uint32(b[32:]), CtimeNsec: le.Uint32(b[36:]),
		Mode: le.Uint32(b[40:]), Nlink: le.Uint32(b[44:]), UID: le.Uint32(b[48:]), GID: le.Uint32(b[52:]),
	}
}

func (s stamped) path() string {
	return join(string(s.dir), string(s.base))
}

func cut(path string) (dir, base string) {
	i := len(path)
	for i > 0 && path[i-1] != '/' {
		i--
	}
	return path[:max(i-1, 0)], path[i:]
}
