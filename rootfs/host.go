package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/regular"
)

// usrDirs are top-level directories that a merged /usr makes links; lib32 and libx32 are Debian's.
var usrDirs = [...]string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// configDirs are the parts of /etc and /var/lib that programs in /usr fail without, and that hold nothing private. They were
// chosen from all that Debian's packages for science, mathematics, text and programming languages install there. Left out is
// what may hold passwords (maven, php, jupyter, ncbi, orthanc), and what programs do without (groff, perl, ghostscript): each
// mount takes time.
var configDirs = [...]string{
	"etc/alternatives", // BLAS is found through it
	"etc/ssl/certs", "etc/fonts",
	// Certificates on Fedora, where OpenSSL reads its policy too, and on Arch.
	"etc/pki/tls/certs", "etc/pki/ca-trust/extracted", "etc/crypto-policies/back-ends", "etc/ca-certificates/extracted",
	// Languages.
	"etc/R", "etc/python3*", "etc/java-*-openjdk", "etc/racket", "var/lib/ghc",
	// Text: the formats of TeX, dictionaries.
	"etc/texmf", "var/lib/texmf", "var/lib/aspell", "var/lib/mecab",
	// Science: settings that have no default, the policy and fonts of ImageMagick, drivers of OpenCL.
	"etc/fastqc", "etc/ImageMagick-*", "etc/OpenCL",
}

// etcLinks are links to certificates, made again: OpenSSL looks there first on Fedora and Arch.
var etcLinks = [...]string{"etc/ssl/cert.pem", "etc/pki/tls/cert.pem"}

// etcFiles are copied: mounts would cost more.
var etcFiles = [...]string{"etc/ld.so.cache", "etc/matplotlibrc", "etc/ocamlfind.conf", "etc/mecabrc"}

// linkedSources may hold what a part of /etc is a link to; openSUSE has certificates in /var.
var linkedSources = [...]string{"etc", "usr", "var/lib/ca-certificates"}

// maxCopy bounds a copied file in bytes; the largest known ld.so.cache is a hundredth of it.
const maxCopy = 16 << 20

// Host plans a root filesystem with the programs of the host whose "/" is root: /usr, the directories or links next to
// it, and the parts of /etc and /var/lib that programs need. Accounts, hosts and names are made up; nothing else of the host is in
// it. uid is that of the user and group "analysis" inside.
//
// The time zone is UTC, so that results repeat.
func Host(root string, uid uint32) (Tree, error) {
	tree := Tree{Dirs: mountPoints(), Files: accountFiles(uid), Run: []File{gitConfig()}, Links: []Link{{"/var/tmp", "/tmp"}}}
	for _, add := range []func(*Tree, string) error{addUsr, addUsrDirs, addConfigDirs, addEtcLinks, addEtcFiles, addTimeZone} {
		if err := add(&tree, root); err != nil {
			return Tree{}, fmt.Errorf("root filesystem of the host: %w", err)
		}
	}
	return tree, nil
}

// mountPoints lists the mount points of every run, and empty directories that programs expect.
func mountPoints() []Dir {
	var dirs []Dir
	for _, p := range []string{
		"/analysis", "/data", "/dev", "/docs", "/etc", "/home", "/home/analysis", "/inputs", "/proc", "/run", "/sys",
		"/tmp", "/usr", "/var", "/work",
	} {
		dirs = append(dirs, Dir{Path: p, Mode: dirMode})
	}
	return dirs
}

func addUsr(tree *Tree, root string) error {
	source := filepath.Join(root, "usr")
	if !isDir(source, "bin") || !isDir(source, "lib") && !isDir(source, "lib64") {
		return fmt.Errorf("this host does not keep its programs and libraries in %s%s; give another root filesystem with --rootfs", source, store(root))
	}
	tree.Binds = append(tree.Binds, Bind{Source: source, Destination: "/usr", IsDir: true})
	return nil
}

// store is where NixOS and Guix keep programs, for a message.
func store(root string) string {
	for _, name := range []string{"nix/store", "gnu/store"} {
		if isDir(root, name) {
			return " but in " + filepath.Join(root, name)
		}
	}
	return ""
}

func isDir(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.IsDir()
}

// addUsrDirs adds /bin etc. as on the host: the same link into /usr, or a bind.
func addUsrDirs(tree *Tree, root string) error {
	for _, name := range usrDirs {
		source := filepath.Join(root, name)
		target, err := os.Readlink(source)
		if err == nil && leadsIntoUsr(target) {
			tree.Links = append(tree.Links, Link{Path: "/" + name, Target: target})
			continue
		}
		if err := addDir(tree, source, "/"+name); err != nil {
			return err
		}
	}
	return nil
}

// HostShows reports whether the host's root filesystem has path, absolute and clean, at the same location: among its
// programs, or as an alternative that leads to them.
func HostShows(path string) bool {
	for _, name := range append([]string{"usr", "etc/alternatives"}, usrDirs[:]...) {
		if strings.HasPrefix(path+"/", "/"+name+"/") {
			return true
		}
	}
	return false
}

func leadsIntoUsr(target string) bool {
	return strings.HasPrefix(path.Join("/", target), "/usr/")
}

func addConfigDirs(tree *Tree, root string) error {
	for _, pattern := range configDirs {
		sources, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, source := range sources {
			inside, err := filepath.Rel(root, source)
			if err != nil {
				return err
			}
			if !holdsNoSecret(root, source) {
				continue
			}
			if err := addDir(tree, source, "/"+inside); err != nil {
				return err
			}
		}
	}
	return nil
}

// holdsNoSecret excludes what an administrator's link leads to elsewhere, and directories with private keys, as in
// /etc/ssl and /etc/pki/tls.
func holdsNoSecret(root, source string) bool {
	real, err := filepath.EvalSymlinks(source)
	if err != nil || isDir(real, "private") {
		return false
	}
	if real == source {
		return true
	}
	for _, name := range linkedSources {
		if strings.HasPrefix(real, filepath.Join(root, name)+"/") {
			return true
		}
	}
	return false
}

// addDir binds source, with links resolved as a bind does, if it is a directory; anything else is skipped.
func addDir(tree *Tree, source, destination string) error {
	source, err := filepath.EvalSymlinks(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(source)
	if err != nil || !info.IsDir() {
		return err
	}
	tree.Binds = append(tree.Binds, Bind{Source: source, Destination: destination, IsDir: true})
	return nil
}

func addEtcLinks(tree *Tree, root string) error {
	for _, name := range etcLinks {
		if target, err := os.Readlink(filepath.Join(root, name)); err == nil {
			tree.Links = append(tree.Links, Link{Path: "/" + name, Target: target})
		}
	}
	return nil
}

func addEtcFiles(tree *Tree, root string) error {
	for _, name := range etcFiles {
		source := filepath.Join(root, name)
		f, err := regular.OpenTarget(source)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		data, err := bounded.ReadFile(f, maxCopy)
		f.Close()
		if err != nil {
			return err
		}
		tree.Files = append(tree.Files, File{Path: "/" + name, Data: data, Mode: fileMode})
	}
	return nil
}

// utc is the time zone of every run, so that results repeat.
const utc = "/usr/share/zoneinfo/Etc/UTC"

// addTimeZone sets the local time to UTC for programs that ignore TZ. Without zone files the C library uses UTC.
func addTimeZone(tree *Tree, root string) error {
	if _, err := os.Stat(filepath.Join(root, utc)); err == nil {
		tree.Links = append(tree.Links, Link{Path: "/etc/localtime", Target: utc})
	}
	return nil
}
