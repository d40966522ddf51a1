package spec

import (
	"fmt"
	"strings"
)

// moduleName is the name of a Python module, with those of its packages.
var moduleName = pattern(`^[A-Za-z_]\w{0,99}(\.[A-Za-z_]\w{0,99}){0,9}$`)

// checkWarm accepts auto and none.
func checkWarm(value string) error {
	if value == "" || value == PreloadAuto || value == None {
		return nil
	}
	return fmt.Errorf("warm %s: give auto or none", quote(value))
}

// checkPreload accepts auto, none and a list of modules; both words match as modules.
func checkPreload(value string) error {
	if value == "" {
		return nil
	}
	for name := range strings.SplitSeq(value, ",") {
		if !moduleName().MatchString(name) {
			return fmt.Errorf("preload %s: %s is no module: give auto, none or modules such as numpy,pandas", quote(value), quote(name))
		}
	}
	return nil
}
