package spec

import (
	"strings"
)

// imageForm matches image names: a word, or a registry reference as HOST/PATH:TAG.
var imageForm = word(255, `^[A-Za-z0-9][A-Za-z0-9._:@/+-]*$`)

// RootfsDirectory reports whether the root filesystem is a host directory: it starts with "/" or ".", as no image name
// does.
func (a Analysis) RootfsDirectory() bool { return isDirectory(a.Rootfs) }

func isDirectory(rootfs string) bool {
	return strings.HasPrefix(rootfs, "/") || strings.HasPrefix(rootfs, ".")
}

// resolveRootfs leaves host and the names of images.
func resolveRootfs(dir, rootfs string) string {
	if !isDirectory(rootfs) {
		return rootfs
	}
	return resolve(dir, rootfs)
}

// RootfsImage reports whether the root filesystem is an image.
func (a Analysis) RootfsImage() bool {
	return a.Rootfs != "" && a.Rootfs != RootfsHost && !a.RootfsDirectory()
}

func checkRootfs(a Analysis) error {
	if a.RootfsImage() && !imageForm(a.Rootfs) {
		return badField("rootfs", "%s is neither host, nor the name of an image, nor a directory: write a directory as /DIR or ./DIR", quote(a.Rootfs))
	}
	return checkText("rootfs", a.Rootfs)
}
