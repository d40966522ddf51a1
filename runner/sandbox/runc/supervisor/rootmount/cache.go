package rootmount

import (
	"os"
	"path"
	"strings"

	"github.com/scidex-ai/scidex-oci/rootfs"
)

// putCache puts files of the analysis, with the directories that lead to them, into file systems that are mounted below root
// already and empty. No path leads out of root.
func putCache(root string, files []rootfs.File, owner int) error {
	if len(files) == 0 {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, f := range files {
		if err := putFile(dir, f, owner); err != nil {
			return err
		}
	}
	return nil
}

func putFile(root *os.Root, f rootfs.File, owner int) error {
	name := strings.TrimPrefix(f.Path, "/")
	if err := makeOwned(root, path.Dir(name), owner); err != nil {
		return err
	}
	if err := root.WriteFile(name, f.Data, f.Mode); err != nil {
		return err
	}
	return root.Chown(name, owner, owner)
}

// makeOwned makes a directory and its missing parents, which only owner can enter.
func makeOwned(root *os.Root, dir string, owner int) error {
	if _, err := root.Lstat(dir); err == nil || dir == "." {
		return nil
	}
	if err := makeOwned(root, path.Dir(dir), owner); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return root.Chown(dir, owner, owner)
}
