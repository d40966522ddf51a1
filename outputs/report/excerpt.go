package report

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// What is shown of a text, in bytes and lines.
const (
	logHead, logTail = 8 << 10, 12 << 10
	scriptMax        = 96 << 10
	scriptLines      = 2000
	textMax          = 4 << 10
	textLines        = 40
)

// wholeLines omits a truncated last line, if there is one before it.
func wholeLines(s string) string {
	if end := strings.LastIndexByte(s, '\n'); end >= 0 {
		return s[:end+1]
	}
	return s
}

// afterLine omits a truncated first line, if there is one behind it.
func afterLine(s string) string {
	if end := strings.IndexByte(s, '\n'); end >= 0 && end+1 < len(s) {
		return s[end+1:]
	}
	return s
}

// log is the shown part of a stream.
type log struct {
	Name  string
	Bytes string
	Empty bool
	Notes []string
	Link  string // the whole of it, on a site
	ends
}

func newLog(name string, l result.Log, blobs Blobs, link string) log {
	shown := log{Name: name, Bytes: format.Size(l.Bytes), Empty: l.Bytes == 0}
	if l.Truncated {
		shown.Notes = append(shown.Notes, "Not all of it was kept: the analysis wrote more than the limit log_size.")
	}
	if l.SHA256 != "" {
		shown.ends, shown.Link = bothEnds(blobs, l.SHA256, logHead, logTail), link
	}
	return shown
}

// code is a script with its lines.
type code struct {
	Name, SHA256 string
	Lines        []string
	Note         string
	Link         string // the whole of it, on a site
}

func newCode(s *result.Script, blobs Blobs, link string) *code {
	if s == nil {
		return nil
	}
	shown := &code{Name: s.Name, SHA256: s.SHA256}
	if s.SHA256 == "" {
		shown.Note = "It is empty."
		return shown
	}
	content, err := start(blobs, s.SHA256, scriptMax)
	if err != nil {
		shown.Note = unread(err)
		return shown
	}
	shown.Link = link
	text := string(content)
	if len(content) == scriptMax {
		text = wholeLines(text)
		shown.Note = "Only its beginning is shown."
	}
	shown.Lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(shown.Lines) > scriptLines {
		shown.Lines, shown.Note = shown.Lines[:scriptLines], "Only its beginning is shown."
	}
	for i, l := range shown.Lines {
		shown.Lines[i] = strings.TrimSuffix(l, "\r")
	}
	return shown
}

// document is the start of a text among the outputs.
type document struct {
	Path, Size string
	Text, Note string
}

func newDocument(o result.Output, blobs Blobs) document {
	shown := document{Path: o.Path, Size: format.Size(o.Size)}
	content, err := start(blobs, o.SHA256, textMax)
	if err != nil {
		shown.Note = unread(err)
		return shown
	}
	shown.Text = string(content)
	if int64(len(content)) < o.Size {
		shown.Text = wholeLines(shown.Text)
	}
	if lines := strings.SplitAfter(shown.Text, "\n"); len(lines) > textLines {
		shown.Text = strings.Join(lines[:textLines], "")
	}
	if int64(len(shown.Text)) < o.Size {
		shown.Note = "Only its beginning is shown."
	}
	return shown
}
