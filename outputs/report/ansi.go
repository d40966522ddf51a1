package report

import (
	"strconv"
	"strings"
)

// Coloured is a part of a text in one colour.
type Coloured struct {
	Class  string // "" for the page's own colour
	Pieces []Piece
}

// coloured splits a text at the sequences by which terminals change colours and weight (ECMA-48, 8.3.117), which it
// leaves out. Any other sequence stays, as marks, since it could have moved or hidden text.
func coloured(s string) []Coloured {
	var all []Coloured
	var now style
	for s != "" {
		text, rest, parameters := cutStyle(s)
		if text != "" {
			all = append(all, Coloured{now.class(), pieces(text, true)})
		}
		now.change(parameters)
		s = rest
	}
	return all
}

// cutStyle cuts a text at the next change of style. Without one, all is text.
func cutStyle(s string) (text, rest string, parameters []string) {
	for from := 0; ; {
		n := strings.Index(s[from:], "\x1b[")
		if n < 0 {
			return s, "", nil
		}
		n += from
		end := n + 2
		for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == ';') {
			end++
		}
		if end < len(s) && s[end] == 'm' {
			return s[:n], s[end+1:], strings.Split(s[n+2:end], ";")
		}
		from = end
	}
}

// style is a colour of eight, counted from 1, and a weight.
type style struct {
	colour int
	bold   bool
}

func (s style) class() string {
	var classes []string
	if s.colour > 0 {
		classes = append(classes, "t"+strconv.Itoa(s.colour-1))
	}
	if s.bold {
		classes = append(classes, "bold")
	}
	return strings.Join(classes, " ")
}

func (s *style) change(parameters []string) {
	for i := 0; i < len(parameters); i++ {
		n, err := strconv.Atoi(parameters[i])
		switch {
		case err != nil && parameters[i] != "":
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 22:
			s.bold = false
		case n >= 30 && n <= 37:
			s.colour = n - 29
		case n >= 90 && n <= 97:
			s.colour = n - 89
		case n == 39:
			s.colour = 0
		case n == 38 || n == 48:
			colour, used := extended(parameters[i+1:])
			if i += used; n == 38 {
				s.colour = colour
			}
		}
	}
}

// extended is the nearest of the eight colours to one of 256 or of RGB, and the number of parameters that name it.
func extended(parameters []string) (colour, used int) {
	var n [4]int
	for i := range min(len(parameters), len(n)) {
		n[i], _ = strconv.Atoi(parameters[i]) // 0 as on a terminal
	}
	switch {
	case n[0] == 2:
		return nearest(n[1], n[2], n[3]), min(len(parameters), 4)
	case n[0] != 5:
		return 0, min(len(parameters), 1)
	case n[1] < 16:
		return n[1]%8 + 1, 2
	case n[1] < 232:
		cube := n[1] - 16
		return nearest(cube/36, cube/6%6, cube%6), 2
	}
	return 0, 2 // a grey
}

// nearest has those of red, green and blue that are strong.
func nearest(red, green, blue int) int {
	most := max(red, green, blue)
	if most == 0 || red == green && green == blue {
		return 0
	}
	colour := 1
	for i, part := range []int{red, green, blue} {
		if 3*part > 2*most {
			colour += 1 << i
		}
	}
	return colour
}

// finalLines is a stream as a notebook shows it: of a line that was written several times, such as a progress bar, only
// the last form.
func finalLines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	lines := strings.SplitAfter(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		text, end := strings.CutSuffix(line, "\n")
		text = strings.TrimRight(text, "\r")
		lines[i] = text[strings.LastIndexByte(text, '\r')+1:]
		if end {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}
