package commands

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

// progressView shows the progress of blobs.
type progressView interface {
	// Writer takes messages for standard error.
	io.Writer
	// show is safe for concurrent use.
	show(p image.Progress)
	// end is called once, after the last show.
	end(whole bool)
}

// newProgressView is bars on a terminal, lines of JSON if requested, else nothing.
func newProgressView(p *command.Program, asJSON bool) progressView {
	switch {
	case asJSON:
		return &progressLines{Writer: p.Stderr, to: p.Stdout, shown: map[stage]time.Time{}}
	case screen.IsTerminal(p.Stderr) && p.Env.Text("TERM") != "dumb":
		return newBars(p.Stderr)
	}
	return noProgress{p.Stderr}
}

type noProgress struct{ io.Writer }

func (noProgress) show(image.Progress) {}
func (noProgress) end(bool)            {}

// stage is a phase of one blob.
type stage struct{ phase, digest string }

func stageOf(p image.Progress) stage { return stage{p.Phase, p.Digest.String()} }

// lineEvery is how often a stage has a line.
const lineEvery = 500 * time.Millisecond

// progressLines prints each stage at times, and its end.
type progressLines struct {
	io.Writer
	mu    sync.Mutex
	to    io.Writer
	shown map[stage]time.Time
}

func (l *progressLines) show(p image.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := stageOf(p)
	if p.Done < p.Total && time.Since(l.shown[at]) < lineEvery {
		return
	}
	l.shown[at] = time.Now()
	// A closed reader is detected by the line that matters, the last.
	_ = screen.WriteJSON(l.to, struct {
		Type   string  `json:"type"`
		Phase  string  `json:"phase"`
		Digest *string `json:"digest"`
		Done   int64   `json:"done"`
		Total  int64   `json:"total"`
	}{"progress", p.Phase, knownOrNil(p.Digest.String()), p.Done, p.Total})
}

func (l *progressLines) end(bool) {}

// bars are one per stage, which stay when they are full.
type bars struct {
	mu   sync.Mutex
	all  *mpb.Progress
	each map[stage]*mpb.Bar
}

func newBars(terminal *os.File) *bars {
	return &bars{all: mpb.New(mpb.WithOutput(terminal), mpb.WithWidth(72)), each: map[stage]*mpb.Bar{}}
}

// Write shows messages above the bars.
func (b *bars) Write(p []byte) (int, error) { return b.all.Write(p) }

func (b *bars) show(p image.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := stageOf(p)
	bar := b.each[at]
	if bar == nil {
		bar = b.all.AddBar(p.Total,
			mpb.PrependDecorators(decor.Name(p.Phase, decor.WC{W: 7, C: decor.DindentRight}), decor.Name(barName(p), decor.WC{W: 13, C: decor.DindentRight})),
			mpb.AppendDecorators(decor.CountersKibiByte("% .1f / % .1f", decor.WCSyncSpace)))
		b.each[at] = bar
	}
	bar.SetCurrent(p.Done)
}

// barName is the start of the digest.
func barName(p image.Progress) string {
	if p.Digest == "" {
		return ""
	}
	return format.ShortDigest(p.Digest.Encoded())
}

func (b *bars) end(whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bar := range b.each {
		if whole {
			bar.SetTotal(-1, true) // an existing blob was not read to its end
		} else {
			bar.Abort(false)
		}
	}
	b.all.Wait()
}
