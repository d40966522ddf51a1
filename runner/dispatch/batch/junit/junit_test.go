package junit

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// report is a reader of its own.
type report struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Suite    struct {
		Name    string `xml:"name,attr"`
		Errors  int    `xml:"errors,attr"`
		Skipped int    `xml:"skipped,attr"`
		Cases   []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
			Err     string    `xml:"system-err"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

const hostile = "a<b>&\"'\x1b[31m\x00\xff]]>\u202e\ufeff\u200f\ufffe\r.\r\n<!-- "

func TestWriter(t *testing.T) {
	cases, err := os.Create(filepath.Join(t.TempDir(), "cases"))
	if err != nil {
		t.Fatal(err)
	}
	defer cases.Close()
	w := NewWriter(cases)
	w.Add(Case{Name: "good", Took: time.Second})
	w.Add(Case{Name: hostile, End: Failure, Reason: "exit", Message: hostile, ErrorOutput: hostile})
	w.Add(Case{Name: "error", End: Error, Message: "m"})
	w.Add(Case{Name: "skipped", End: Skipped, Message: "m"})
	var raw bytes.Buffer
	if err := w.Write(&raw, "suite "+hostile, time.Now(), time.Second); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := xml.Unmarshal(raw.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, raw.Bytes())
	}
	s := got.Suite
	if got.Tests != 4 || got.Failures != 1 || s.Errors != 1 || s.Skipped != 1 || len(s.Cases) != 4 {
		t.Fatalf("%+v", got)
	}
	seen := strings.NewReplacer("\x1b", `\x1b`, "\x00", `\x00`, "\xff", `\xff`, "\u202e", `\u202e`, "\ufeff", `\ufeff`, "\u200f", `\u200f`, "\ufffe", `\ufffe`, "\r.", `\r.`).Replace(hostile)
	if c := s.Cases[1]; c.Name != seen || c.Failure == nil || c.Failure.Message != seen || c.Failure.Text != seen || c.Err != seen {
		t.Errorf("%+v, want %q", c, seen)
	}
	if s.Cases[2].Error == nil || s.Cases[3].Skipped == nil || s.Name != "suite "+seen {
		t.Errorf("%+v", s)
	}
}
