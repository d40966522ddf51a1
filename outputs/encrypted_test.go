package outputs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestHarvestWithoutTheKey: an analysis can encrypt a directory of its own and remove the key (fscrypt). Then the
// unreadable files are its own doing, and no failure of the file system.
func TestHarvestWithoutTheKey(t *testing.T) {
	if _, err := os.Stat("/sys/fs/ext4/features/encryption"); os.Geteuid() != 0 || err != nil {
		t.Skip("only root can mount an ext4 that encrypts, and the kernel must have it")
	}
	dir := t.TempDir()
	for _, command := range []string{"truncate -s 16M disk", "mkfs.ext4 -q -O encrypt disk", "mkdir mounted", "mount -o loop disk mounted", "mkdir mounted/work"} {
		words := strings.Fields(command)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	t.Cleanup(func() { must(t, unix.Unmount(filepath.Join(dir, "mounted"), unix.MNT_DETACH)) })
	work := filepath.Join(dir, "mounted", "work")
	write0(t, work+"/plain", "1")
	must(t, os.Mkdir(work+"/secret", 0o755))
	fd := int(openDir(t, work+"/secret").Fd())
	key := encrypt(t, fd)
	write0(t, work+"/secret/file", "1")
	write0(t, work+"/secret/below/file", "1")
	must(t, os.Symlink("file", work+"/secret/link"))
	remove := unix.FscryptRemoveKeyArg{Key_spec: key}
	ioctl(t, fd, unix.FS_IOC_REMOVE_ENCRYPTION_KEY, unsafe.Pointer(&remove))
	h := reap(t, work, Options{})
	h.is("plain", "")
	verdicts := map[Reason]int{}
	for _, e := range h.entries {
		verdicts[e.Rejected]++
		if e.Rejected == Unreadable && !strings.Contains(string(e.Detail), "ENOKEY") {
			t.Errorf("%q: %s", e.Path, e.Detail)
		}
	}
	if len(h.entries) != 4 || verdicts[Unreadable] != 2 || verdicts[Symlink] != 1 {
		t.Errorf("%+v", h.entries)
	}
}

// encrypt adds a key and has an empty directory encrypted with it.
func encrypt(t *testing.T, dir int) unix.FscryptKeySpecifier {
	t.Helper()
	var add struct {
		unix.FscryptAddKeyArg
		raw [unix.FSCRYPT_MAX_KEY_SIZE]byte
	}
	add.Key_spec.Type, add.Raw_size = unix.FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER, uint32(len(add.raw))
	copy(add.raw[:], strings.Repeat("key ", 16))
	ioctl(t, dir, unix.FS_IOC_ADD_ENCRYPTION_KEY, unsafe.Pointer(&add))
	policy := unix.FscryptPolicyV2{
		Version: unix.FSCRYPT_POLICY_V2, Contents_encryption_mode: unix.FSCRYPT_MODE_AES_256_XTS,
		Filenames_encryption_mode: unix.FSCRYPT_MODE_AES_256_CTS,
	}
	copy(policy.Master_key_identifier[:], add.Key_spec.U[:])
	ioctl(t, dir, unix.FS_IOC_SET_ENCRYPTION_POLICY, unsafe.Pointer(&policy))
	return add.Key_spec
}

func ioctl(t *testing.T, fd int, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		t.Fatal(errno)
	}
}
