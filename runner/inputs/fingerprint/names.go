package fingerprint

import (
	"bufio"
	"container/heap"
	"errors"
	"io"
	"os"
	"slices"
)

// heldNames is how many names of a directory are held in memory, each at most 255 bytes (NAME_MAX, limits.h).
const heldNames = 16 << 10

// names are those of one directory in byte order. What does not fit into memory is sorted in parts, in a file, and merged
// (an external merge sort); a part takes a buffer of memory then.
type names struct {
	held  []string
	file  *os.File // nil: all are held
	parts parts
}

// readNames reads an open directory to its end. spill makes the file.
func readNames(dir *os.File, spill func() (*os.File, error)) (_ *names, err error) {
	n := &names{}
	var ends []int64
	for {
		some, err := dir.Readdirnames(heldNames - len(n.held))
		n.held = append(n.held, some...)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, n.close())
		}
		if err != nil {
			slices.Sort(n.held)
			return n, n.merge(ends)
		}
		if len(n.held) < heldNames {
			continue
		}
		slices.Sort(n.held)
		end, err := n.write(spill)
		if err != nil {
			return nil, errors.Join(err, n.close())
		}
		ends, n.held = append(ends, end), n.held[:0]
	}
}

// write adds a part to the file, and returns its end.
func (n *names) write(spill func() (*os.File, error)) (end int64, err error) {
	if n.file == nil {
		if n.file, err = spill(); err != nil {
			return 0, err
		}
	}
	w := bufio.NewWriter(n.file)
	for _, name := range n.held {
		w.WriteString(name) //nolint:errcheck // Flush has it
		w.WriteByte(0)      //nolint:errcheck // the same
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return n.file.Seek(0, io.SeekCurrent)
}

// merge starts to read the parts, the last from memory.
func (n *names) merge(ends []int64) error {
	begin := int64(0)
	for _, end := range ends {
		p := &part{rest: bufio.NewReader(io.NewSectionReader(n.file, begin, end-begin))}
		if err := p.step(); err != nil {
			return errors.Join(err, n.close())
		}
		n.parts, begin = append(n.parts, p), end
	}
	heap.Init(&n.parts)
	return nil
}

// next returns the next name, and at the end io.EOF.
func (n *names) next() (string, error) {
	switch {
	case len(n.parts) == 0 && len(n.held) == 0:
		return "", io.EOF
	case len(n.parts) == 0 || len(n.held) > 0 && n.held[0] < n.parts[0].name:
		name := n.held[0]
		n.held = n.held[1:]
		return name, nil
	}
	name := n.parts[0].name
	err := n.parts[0].step()
	if errors.Is(err, io.EOF) {
		heap.Pop(&n.parts)
		return name, nil
	}
	heap.Fix(&n.parts, 0)
	return name, err
}

func (n *names) close() error {
	if n.file == nil {
		return nil
	}
	return n.file.Close()
}

// part is a sorted list of names in a file, each ended by NUL.
type part struct {
	name string // the first that is left
	rest *bufio.Reader
}

func (p *part) step() error {
	name, err := p.rest.ReadString(0)
	if err == nil {
		p.name = name[:len(name)-1]
	}
	return err
}

// parts are a heap by their names.
type parts []*part

func (p parts) Len() int           { return len(p) }
func (p parts) Less(i, j int) bool { return p[i].name < p[j].name }
func (p parts) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *parts) Push(x any)        { *p = append(*p, x.(*part)) } //nolint:forcetypeassert // only Pop is used
func (p *parts) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
