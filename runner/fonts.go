package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/fontlist"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/preload"
	"github.com/scidex-ai/scidex-oci/spec"
)

// addFonts gives a run that plots matplotlib's list of fonts. If there is none yet for its root filesystem and runtime, a
// run without a row makes one, which sees neither the script nor any input. Without a list matplotlib makes its own.
func (r *run) addFonts(ctx context.Context) {
	p := r.task.Plan
	if p.Inputs.Script == nil || preload.Python(p.Command) == "" || !fontlist.Wanted(p.Analysis, p.Inputs.Script.File) {
		return
	}
	defer r.span("find the list of fonts")()
	list, err := r.fonts(ctx)
	if err != nil {
		r.host.Log.Debug("there is no list of fonts", "error", err)
		return
	}
	if list.Name != "" {
		p.Extra.Cache = []rootfs.File{{Path: path.Join(spec.MatplotlibDir, list.Name), Data: list.Data, Mode: 0o644}}
	}
}

func (r *run) fonts(ctx context.Context) (fontlist.List, error) {
	p := r.task.Plan
	key, err := fontSources(p).Key()
	if err != nil {
		return fontlist.List{}, err
	}
	if list, err := fontlist.Find(r.host.Root, key); err == nil {
		return list, nil
	}
	if tell := r.task.Request.Waiting; tell != nil {
		tell("making matplotlib's list of fonts, once for this root filesystem")
	}
	list, err := makeFonts(ctx, r.host, p)
	return list, errors.Join(err, fontlist.Keep(r.host.Root, key, list)) // also that none could be made: it is not tried each time
}

// fontSources is what the list of fonts of a run depends on.
func fontSources(p *plan.Plan) fontlist.Sources {
	sources := fontlist.Sources{Root: p.Base.Dir(), Interpreter: preload.Python(p.Command)}
	if p.Base != nil && p.Base.Image != nil {
		sources.RootID = p.Base.Image.Digest.String()
	}
	if p.Inputs.Runtime != nil {
		sources.Runtime = p.Inputs.Runtime.Dir
	}
	return sources
}

// fontsTimeout bounds a run that makes a list. It takes a second, and more if there are thousands of fonts.
const fontsTimeout = 30 * time.Second

// makeFonts makes a list of fonts in a run of its own, on the root filesystem and with the runtime and the ids of p.
func makeFonts(ctx context.Context, host *phase.Host, p *plan.Plan) (fontlist.List, error) {
	a := spec.Analysis{
		ID: "fonts-" + strings.ToLower(rand.Text()[:12]), Rootfs: p.Analysis.Rootfs, Runtime: p.Analysis.Runtime,
		IDs: p.Analysis.IDs, Limits: p.Analysis.Limits, Memory: p.Analysis.Memory, Timeout: spec.Duration(fontsTimeout),
		Data: spec.None, Docs: spec.None, Command: []string{preload.Python(p.Command), "-c", fontlist.Program},
	}
	printed, err := Print(ctx, host, a, fontlist.Max+100)
	if err != nil {
		return fontlist.List{}, err
	}
	return fontlist.Parse(printed)
}
