package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
)

// Sources are what a run could read of the host, except its script, which is kept, and the host's programs.
func (p *Plan) Sources() []inputs.Input {
	sources := p.Inputs.Inputs[:len(p.Inputs.Inputs):len(p.Inputs.Inputs)]
	if p.Stage != nil {
		in := inputs.Input{Flag: "--stage", File: p.Stage}
		in.Bind.Source, in.Bind.Destination, in.Bind.Directory = p.Analysis.Stage, "/work", true
		sources = append(sources, in)
	}
	if p.Base != nil && p.Base.Image == nil {
		sources = append(sources, p.Base.Input)
	}
	return sources
}

// ScriptNow is the script as the result has it.
func (p *Plan) ScriptNow() (*result.Script, error) {
	s := p.Inputs.Script
	if s == nil {
		return nil, nil // there is none
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(s.File, 0, inputs.ScriptMax+1))
	if err != nil || n == 0 {
		return &result.Script{Name: s.Inside}, err
	}
	return &result.Script{Name: s.Inside, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}
