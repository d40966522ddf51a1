package sandbox

import (
	"errors"
	"slices"
)

// What of a job is long, its filter and the files of its root filesystem (the host's linker cache alone can have 100 kB),
// travels as bytes behind the message: as text in JSON it costs more than all else of the message.

// stripped returns the job without its bulk, and the parts of that.
func (j Job) stripped() (*Job, [][]byte) {
	j.Tree.Files = slices.Clone(j.Tree.Files)
	var parts [][]byte
	for _, part := range j.bulk() {
		parts = append(parts, *part)
		*part = nil
	}
	return &j, parts
}

// restore puts the bulk back where it was.
func (j *Job) restore(sizes []int, bulk []byte) error {
	parts := j.bulk()
	if len(parts) != len(sizes) {
		return errors.New("a job came with other files than it names")
	}
	for i, part := range parts {
		if sizes[i] < 0 || sizes[i] > len(bulk) {
			return errors.New("a job came with less than it names")
		}
		*part, bulk = bulk[:sizes[i]:sizes[i]], bulk[sizes[i]:]
	}
	return nil
}

// bulk is where the parts are.
func (j *Job) bulk() []*[]byte {
	parts := []*[]byte{&j.Filter}
	for i := range j.Tree.Files {
		parts = append(parts, &j.Tree.Files[i].Data)
	}
	return parts
}
