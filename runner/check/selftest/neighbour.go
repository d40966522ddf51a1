package selftest

import (
	"crypto/rand"
	"encoding/binary"
	"path/filepath"
)

// newMarks makes the marks of a run.
func newMarks(id string) (marks, error) {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return marks{}, err
	}
	return marks{
		Name: id,
		Key:  int(binary.BigEndian.Uint32(random[:])>>1) | 1, // 0 is IPC_PRIVATE (shmget(2))
		Port: 20000 + int(binary.BigEndian.Uint16(random[4:]))%10000,
	}, nil
}

// neighbours are the probes of another run that is alive: its marks and its directory. seen is what the other run made of its own marks: the control.
func (t *test) neighbours(of marks, seen []outcome) (all []probe) {
	for i, s := range of.signs() {
		p := probe{check: "neighbour", target: s.what + " of " + of.Name, try: s.try}
		p.judge = refused([]string{s.step}, s.gone...)
		p.control = "the canary that left it did not tell"
		if i < len(seen) {
			p.controlled = seen[i].Got[s.step] == succeeded
			p.control = seen[i].Got[s.step] + " by the canary that left it"
		}
		all = append(all, p)
	}
	directory := filepath.Join(t.runner.Tmp, "scidex-analysis-"+of.Name)
	return append(all, own("neighbour", directory, try{Do: "stat", At: directory}, gone))
}

// gone demands that there is nothing at a path.
func gone(o outcome) (Result, string) {
	return refused([]string{"stat"}, "ENOENT", "ENOTDIR", "EACCES", "EPERM")(o)
}
