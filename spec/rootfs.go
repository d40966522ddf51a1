package spec

import (
	"fmt"
	"strings"
)

// imageForm is what can name an image; it holds no slash, which a directory has.
var imageForm = pattern(`^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,254}$`)

// RootfsDirectory reports whether the root filesystem is a directory of the host: its path has a slash.
func (a Analysis) RootfsDirectory() bool { return strings.Contains(a.Rootfs, "/") }

// RootfsImage reports whether the root filesystem is an image.
func (a Analysis) RootfsImage() bool {
	return a.Rootfs != "" && a.Rootfs != RootfsHost && !a.RootfsDirectory()
}

func checkRootfs(a Analysis) error {
	if err := checkText("rootfs", a.Rootfs); err != nil {
		return err
	}
	if a.RootfsImage() && !imageForm().MatchString(a.Rootfs) {
		return fmt.Errorf("rootfs %s is neither host, nor the name of an image, nor a directory: write a directory with a slash, as ./NAME", quote(a.Rootfs))
	}
	return nil
}
