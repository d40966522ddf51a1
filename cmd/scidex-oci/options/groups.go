package options

// inGroup puts flags into the group in which help and man pages show them.
func inGroup(group string, flags ...*Flag) []*Flag {
	for _, f := range flags {
		f.Category = group
	}
	return flags
}
