package plan

import "github.com/scidex-ai/scidex-oci/spec"

// Environment is the analysis' environment, by name.
func (p *Plan) Environment() (map[string]string, error) {
	return spec.Environment(p.Analysis, p.placement())
}

// placement returns the run's paths for its OCI specification. The supervisor fills in the host's paths of the root and of
// /work.
func (p *Plan) placement() spec.Placement {
	place := spec.Placement{
		Root:        "/",
		Work:        "/work",
		UIDMappings: p.mappings(), GIDMappings: p.mappings(),
		UID: p.uid(), GID: p.uid(),
		Command: p.Command,
		Secrets: p.secrets,
		HasData: p.Inputs.HasData, HasDocs: p.Inputs.HasDocs,
		NoFile: p.noFile(), Audit: p.Audit,
		ImageEnv: p.Base.environment(),
	}
	if r := p.Inputs.Runtime; r != nil {
		place.Runtime, place.RuntimeVariable = r.Dir, r.Variable
	}
	for _, b := range p.Tree.Binds {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	for _, b := range p.Inputs.Binds() {
		place.Binds = append(place.Binds, spec.Bind{Source: b.Source, Destination: b.Destination})
	}
	return place
}
