package runcrate

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// inputsOf are the paths that were bound, with their digests.
func inputsOf(a spec.Analysis, digested []result.Input) (all []crate.Input) {
	for _, one := range []crate.Input{{Place: "/data", Host: a.Data}, {Place: "/docs", Host: a.Docs}, {Place: "/analysis", Host: a.Project}, {Place: "/work", Host: a.Stage}} {
		if one.Host != "" && one.Host != spec.None {
			all = append(all, one)
		}
	}
	for _, text := range a.Inputs {
		if in, err := spec.ParseInput(text); err == nil {
			all = append(all, crate.Input{Place: in.Destination, Host: in.Source})
		}
	}
	for i := range all {
		for _, in := range digested {
			if in.Destination == all[i].Place && in.SHA256 != nil {
				all[i].Digested, all[i].SHA256 = in.Digested, *in.SHA256
			}
		}
	}
	return all
}

// imageOf reads HOST/PATH:TAG@sha256:DIGEST.
func imageOf(s result.Sandbox) *crate.Image {
	if s.RootfsReference == nil {
		return nil
	}
	i := crate.Image{Name: *s.RootfsReference}
	if s.RootfsDigest != nil {
		i.RootDigest = *s.RootfsDigest
	}
	i.Name, i.SHA256, _ = strings.Cut(i.Name, "@sha256:")
	if host, rest, ok := strings.Cut(i.Name, "/"); ok && strings.ContainsAny(host, ".:") {
		i.Registry, i.Name = host, rest
	}
	if name, tag, ok := strings.Cut(i.Name, ":"); ok && !strings.Contains(tag, "/") {
		i.Name, i.Tag = name, tag
	}
	return &i
}

// usageOf returns what was measured; docs/crate.md defines the quantities.
func usageOf(u result.Usage) (all []crate.Measure) {
	const about, unit = "https://github.com/scidex-ai/scidex-oci/blob/main/docs/crate.md#", "https://qudt.org/vocab/unit/"
	for _, m := range []struct {
		name, unit string
		value      int64
	}{
		{"wall_ms", "MilliSEC", u.WallMS},
		{"cpu_ms", "MilliSEC", u.CPUMS},
		{"memory_peak_bytes", "BYTE", u.MemoryPeakBytes},
		{"pids_peak", "", u.PidsPeak},
		{"work_bytes", "BYTE", u.WorkBytes},
		{"work_files", "", u.WorkFiles},
	} {
		if m.value <= 0 {
			continue // not measured
		}
		one := crate.Measure{Name: m.name, About: about + m.name, Value: m.value}
		if m.unit != "" {
			one.Unit = unit + m.unit
		}
		all = append(all, one)
	}
	return all
}
