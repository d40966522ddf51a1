package admission

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
)

// AccountFile is the path of the file that the engines of this account on this host share. The home directory, which may have the
// locks of ids, may be shared with other hosts.
func AccountFile() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	dir, err := runtimeDir()
	return filepath.Join(dir, "scidex-oci-engines."+filepath.Base(host)), err
}

// runtimeDir is the directory of the user's runtime files, or else of the locks of ids.
func runtimeDir() (string, error) {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", os.Geteuid())} {
		var st unix.Stat_t
		err := unix.Stat(dir, &st)
		if err == nil && filepath.IsAbs(dir) && st.Mode == unix.S_IFDIR|0o700 && int(st.Uid) == os.Geteuid() {
			return dir, nil
		}
	}
	return idmap.Account{UID: os.Geteuid()}.LockDir()
}
