package event

import "unicode/utf8"

// Stream makes events of what is written to it: the first Limit bytes of one of the analysis' streams. Each event owns its
// bytes.
type Stream struct {
	Limit int64
	Tell  func(offset int64, part []byte)

	offset int64
	torn   []byte // the start of a character
}

// Write takes all of p.
func (s *Stream) Write(p []byte) (int, error) {
	n := len(p)
	p = p[:min(int64(n), s.Limit-s.offset-int64(len(s.torn)))]
	for len(p) > 0 {
		part := append(s.torn, p[:min(len(p), logMax-len(s.torn))]...)
		p = p[len(part)-len(s.torn):]
		whole := len(part) - unfinished(part)
		s.torn = append([]byte(nil), part[whole:]...)
		s.tell(part[:whole])
	}
	return n, nil
}

// End emits what was held back.
func (s *Stream) End() {
	s.tell(s.torn)
	s.torn = nil
}

func (s *Stream) tell(part []byte) {
	if len(part) > 0 {
		s.Tell(s.offset, part)
		s.offset += int64(len(part))
	}
}

// unfinished is how many bytes at the end of p start an incomplete character.
func unfinished(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if at := p[len(p)-n:]; utf8.RuneStart(at[0]) {
			if utf8.FullRune(at) {
				return 0
			}
			return n
		}
	}
	return 0
}
