package manual

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

var page = Page{
	Name: "prog do", Usage: "do it",
	Examples:    []Example{{"prog do --input 'a b' --output a-long-name", "does it"}},
	Synopsis:    []string{"prog do [flags]", "prog do --all"},
	Description: "One\nparagraph.\n\nCodes:\n  0    good, and\n       more\n  125  bad\nEnd.\n\n  a line\n.x",
	Commands:    []Entry{{"ls", "list"}, {"prog-rm(1)", "remove"}},
	Flags:       []Group{{"", []Flag{{[]string{"file", "f"}, "FILE", "read FILE"}}}, {"Limits", []Flag{{[]string{"quiet"}, "", "say less"}}}}, FlagsHeadline: "FLAGS",
}

func TestHelp(t *testing.T) {
	want := `prog do - do it

EXAMPLES
  prog do --input 'a b' \
      --output a-long-name
      does it

USAGE
  prog do [flags]
  prog do --all

DESCRIPTION
  One paragraph.

  Codes:
    0    good, and more
    125  bad
  End.

    a line
  .x

COMMANDS
  ls  list
  prog-rm(1)
      remove

FLAGS
  -f, --file FILE
      read FILE

LIMITS
  --quiet
      say less
`
	if got := page.Help(30); got != want {
		t.Errorf("got\n%s", got)
	}
	wide := page.Help(80)
	for _, want := range []string{"  prog do --input 'a b' --output a-long-name\n", "  ls          list\n", "  -f, --file FILE  read FILE\n"} {
		if !strings.Contains(wide, want) {
			t.Errorf("no %q in\n%s", want, wide)
		}
	}
}

func TestMan(t *testing.T) {
	want := `.TH "PROG-DO" 1 "" "scidex-oci" "User Commands"
.nh
.ad l
.SH NAME
prog\-do \- do it
.SH EXAMPLES
\fBprog do \-\-input 'a b' \-\-output a\-long\-name\fR
.RS 4n
does it
.RE
.SH SYNOPSIS
prog do [flags]
.br
prog do \-\-all
.SH DESCRIPTION
One paragraph.
.PP
Codes:
.PD 0
.TP 8n
0
good, and more
.PD
.PD 0
.TP 8n
125
bad
.PD
.PD 0
.PP
End.
.PD
.PP
.RS 2n
a line
.RE
.PD 0
.PP
\&.x
.PD
.SH COMMANDS
.TP
\fBls\fR
list
.TP
\fBprog\-rm\fR(1)
remove
.SH FLAGS
.TP
\fB\-f\fR, \fB\-\-file\fR \fIFILE\fR
read FILE
.SH LIMITS
.TP
\fB\-\-quiet\fR
say less
.SH SEE ALSO
prog(1)
`
	if got := string(page.Man("prog(1)")); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{".x": `\&.x`, "'x": `\&'x`, `a\b`: `a\eb`, "--x": `\-\-x`} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShellWords(t *testing.T) {
	got := shellWords(`sh -c 'a "b" c' "it's d"  e`)
	if want := []string{"sh", "-c", `'a "b" c'`, `"it's d"`, "e"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestPlaceholder: one at the head of a sentence is shown once, as the value of the flag.
func TestPlaceholder(t *testing.T) {
	got := Flags([]cli.Flag{
		&cli.StringFlag{Name: "audit", Usage: "`on|off`: note what is refused"},
		&cli.StringFlag{Name: "file", Usage: "read `FILE`: a list"},
	})
	want := []Flag{{[]string{"audit"}, "on|off", "note what is refused"}, {[]string{"file"}, "FILE", "read FILE: a list"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}
