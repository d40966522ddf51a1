package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch/junit"
)

// logTail is how much of the end of a log is shown if it does not fit, in bytes.
const logTail = 8 << 10

// junitReport is the --junit of a batch.
type junitReport struct {
	mu     sync.Mutex
	file   *userfile.NewFile
	cases  *os.File // without a name
	writer *junit.Writer
	began  time.Time
}

// junitClass is the class of all cases, by which CI systems group them.
const junitClass = "scidex-oci.batch"

// openJUnit starts the report, if requested.
func (b *batchInvocation) openJUnit() error {
	if b.options.junit == "" {
		return nil
	}
	file, err := userfile.Create(b.options.junit, true, 0o666)
	if err != nil {
		return fmt.Errorf("--junit %w", err)
	}
	cases, err := file.Scratch()
	if err != nil {
		return fmt.Errorf("--junit %w", err)
	}
	b.junit = &junitReport{file: file, cases: cases, writer: junit.NewWriter(cases), began: time.Now()}
	return nil
}

// addJUnit adds what became of a line.
func (b *batchInvocation) addJUnit(line dispatch.Line, o dispatch.LineResult) {
	if b.junit == nil {
		return
	}
	r := o.Result
	c := junit.Case{
		Name: line.Name(), Class: junitClass, Took: time.Duration(r.Usage.WallMS) * time.Millisecond,
		End: junitEnd(r.State), Reason: string(r.Reason), Message: r.Explanation(),
	}
	if c.End != junit.Good {
		c.Output, c.ErrorOutput = b.logEnd(r.Logs.Stdout), b.logEnd(r.Logs.Stderr)
	}
	b.junit.mu.Lock()
	defer b.junit.mu.Unlock()
	b.junit.writer.Add(c)
}

func junitEnd(state outcome.State) junit.End {
	switch state {
	case outcome.Complete:
		return junit.Good
	case outcome.Failed:
		return junit.Failure
	case outcome.Canceled:
		return junit.Skipped
	default:
		return junit.Error
	}
}

// closeJUnit adds the lines that were not started, and writes the report.
func (b *batchInvocation) closeJUnit(s batch.Summary) error {
	if b.junit == nil {
		return nil
	}
	err := b.skipped(s)
	err = errors.Join(err, b.junit.file.Put(func(to io.Writer) error {
		return b.junit.writer.Write(to, "scidex-oci batch "+b.lines.Name, b.junit.began, time.Since(b.junit.began))
	}), b.junit.cases.Close())
	if err != nil {
		return fmt.Errorf("--junit %q: %w", b.options.junit, err)
	}
	return nil
}

// skipped reads the file again for the lines after the last that was started.
func (b *batchInvocation) skipped(s batch.Summary) error {
	if b.lines.File == nil || s.Signal == nil && !s.Full {
		return nil
	}
	for source := b.lines.Source(); ; {
		line, err := source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line.Number > s.Last {
			b.junit.writer.Add(junit.Case{
				Name: line.Name(), Class: junitClass, End: junit.Skipped,
				Reason: "not_started", Message: "not started, because the batch ended before" + b.options.leftBy(!b.unnamed),
			})
		}
	}
}

// logEnd is the end of a log; "" for an unreadable one, which the result reports.
func (b *batchInvocation) logEnd(log result.Log) string {
	if log.SHA256 == "" {
		return ""
	}
	f, err := b.logs(log.SHA256)
	if err != nil {
		return ""
	}
	defer f.Close()
	end := bounded.Tail(logTail)
	if _, err := io.Copy(end, f); err != nil {
		return ""
	}
	return end.String()
}
