// Package junit writes the outcome of a batch as JUnit XML, the form that CI systems show as tests. Memory does not grow
// with the batch: each case goes to a file first, because the counts of all precede them.
package junit

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Case is one line of a batch.
type Case struct {
	Name  string
	Class string
	Took  time.Duration
	End   End
	// Why it is not Good, in a word and in a sentence.
	Reason, Message string
	Output          string // the end of its standard output
	ErrorOutput     string // the end of its standard error
}

// End is how a case ended.
type End int

// The ends of JUnit.
const (
	Good End = iota
	Failure
	Error
	Skipped
)

// Writer collects cases and writes the report at the end.
type Writer struct {
	cases  io.ReadWriteSeeker
	buffer *bufio.Writer
	count  [Skipped + 1]int // cases by their ends
	err    error            // the first
}

// NewWriter collects the cases in an empty file.
func NewWriter(cases io.ReadWriteSeeker) *Writer {
	return &Writer{cases: cases, buffer: bufio.NewWriter(cases)}
}

// xmlReason is why a case is not good.
type xmlReason struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type xmlCase struct {
	XMLName   xml.Name   `xml:"testcase"`
	Name      string     `xml:"name,attr"`
	Class     string     `xml:"classname,attr"`
	Time      string     `xml:"time,attr"`
	Failure   *xmlReason `xml:"failure"`
	Error     *xmlReason `xml:"error"`
	Skipped   *xmlReason `xml:"skipped"`
	SystemOut string     `xml:"system-out,omitempty"`
	SystemErr string     `xml:"system-err,omitempty"`
}

// Add adds a case. Write returns its error.
func (w *Writer) Add(c Case) {
	w.count[c.End]++
	raw := xmlCase{
		Name: text(c.Name), Class: text(c.Class), Time: seconds(c.Took),
		SystemOut: text(c.Output), SystemErr: text(c.ErrorOutput),
	}
	why := &xmlReason{Type: text(c.Reason), Message: text(c.Message)}
	switch c.End {
	case Good:
	case Failure:
		raw.Failure, why.Text = why, raw.SystemErr
	case Error:
		raw.Error, why.Text = why, raw.SystemErr
	case Skipped:
		raw.Skipped = why
	}
	content, err := xml.MarshalIndent(raw, "    ", "  ")
	if err == nil {
		_, err = w.buffer.Write(append(content, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// Write writes the report.
func (w *Writer) Write(to io.Writer, suite string, began time.Time, took time.Duration) error {
	if err := errors.Join(w.err, w.buffer.Flush()); err != nil {
		return err
	}
	if _, err := w.cases.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n := w.count
	head := fmt.Sprintf(`tests="%d" failures="%d" errors="%d" skipped="%d" time="%s"`,
		n[Good]+n[Failure]+n[Error]+n[Skipped], n[Failure], n[Error], n[Skipped], seconds(took))
	var name strings.Builder
	if err := xml.EscapeText(&name, []byte(text(suite))); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "%s<testsuites %s>\n  <testsuite name=\"%s\" %s timestamp=\"%s\">\n",
		xml.Header, head, name.String(), head, began.UTC().Format("2006-01-02T15:04:05"))
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, w.cases); err != nil {
		return err
	}
	_, err = io.WriteString(to, "  </testsuite>\n</testsuites>\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// text makes visible what may deceive a reader. With it goes what XML 1.0 has no character for (section 2.2): most control
// characters, bytes that are not UTF-8, U+FFFE and U+FFFF.
func text(s string) string { return format.EscapeText(s) }
