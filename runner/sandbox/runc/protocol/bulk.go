package protocol

import (
	"errors"
	"slices"
)

// The long parts of a job, its filter and the files of its root filesystem (the host's linker cache by itself can have 100
// kB), travel as bytes behind the message: as JSON text they would cost more than the rest of it.

// stripped returns the job without its bulk, and the bulk's parts.
func (j Job) stripped() (*Job, [][]byte) {
	j.Tree.Files = slices.Clone(j.Tree.Files)
	var parts [][]byte
	for _, part := range j.bulk() {
		parts = append(parts, *part)
		*part = nil
	}
	return &j, parts
}

// restore puts the bulk back.
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

// bulk lists the long parts.
func (j *Job) bulk() []*[]byte {
	parts := []*[]byte{&j.Filter}
	for i := range j.Tree.Files {
		parts = append(parts, &j.Tree.Files[i].Data)
	}
	return parts
}
