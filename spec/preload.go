package spec

import "strings"

// moduleName is the name of a Python module, with those of its packages.
var moduleName = pattern(`^[A-Za-z_]\w{0,99}(\.[A-Za-z_]\w{0,99}){0,9}$`)

// checkPreload accepts auto, none and a list of modules; both words match as modules.
func checkPreload(a Analysis) error {
	value := a.Preload
	if value == "" {
		return nil
	}
	for name := range strings.SplitSeq(value, ",") {
		if !moduleName().MatchString(name) {
			return badField("preload", "%s: %s is no module: give auto, none or modules such as numpy,pandas", quote(value), quote(name))
		}
	}
	return nil
}
