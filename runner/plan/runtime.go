package plan

// linkRuntime adds to the root filesystem what leads to the runtime's interpreter.
func (p *Plan) linkRuntime() {
	if p.Inputs.Runtime != nil {
		p.Tree.Links = append(p.Tree.Links, p.Inputs.Runtime.Links...)
	}
}
