package format

// Tail keeps the last Limit bytes written to it.
type Tail struct {
	Limit int
	kept  []byte
}

// Write always succeeds.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > t.Limit {
		p = p[len(p)-t.Limit:]
	}
	if over := len(t.kept) + len(p) - t.Limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// String is the bytes that were kept.
func (t *Tail) String() string { return string(t.kept) }
