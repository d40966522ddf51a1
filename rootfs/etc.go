package rootfs

import "fmt"

// nobody is the id shown for unmapped owners (proc_sys_kernel(5), overflowuid).
const nobody = 65534

// accountFiles returns the files of /etc for accounts and hosts. The host's own would reveal its users and network.
func accountFiles(uid uint32) []File {
	file := func(name, text string) File {
		return File{Path: "/etc/" + name, Data: []byte(text), Mode: fileMode}
	}
	return []File{
		file("passwd", passwd(uid)),
		file("group", group(uid)),
		file("hosts", "127.0.0.1 localhost scidex\n::1 localhost ip6-localhost ip6-loopback\n"),
		file("hostname", "scidex\n"),
		file("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n"),
		file("resolv.conf", ""),
		file("timezone", "Etc/UTC\n"),
		// MATPLOTLIBRC (spec). Without a fixed salt the ids in an SVG of matplotlib are random.
		file("scidex-matplotlibrc", "svg.hashsalt: scidex\n"),
	}
}

// gitConfig lets libgit2 read repositories of other owners, as inputs are; git itself reads the variables that spec sets.
func gitConfig() File {
	return File{Path: "/etc/gitconfig", Data: []byte("[safe]\n\tdirectory = *\n"), Mode: fileMode}
}

// passwd lists analysis first: if its uid is 0, a look-up by uid finds it.
func passwd(uid uint32) string {
	return fmt.Sprintf("analysis:x:%d:%d:analysis:/home/analysis:/bin/sh\n", uid, uid) +
		"root:x:0:0:root:/root:/usr/sbin/nologin\n" +
		fmt.Sprintf("nobody:x:%d:%d:nobody:/nonexistent:/usr/sbin/nologin\n", nobody, nobody)
}

func group(gid uint32) string {
	return fmt.Sprintf("analysis:x:%d:\nroot:x:0:\nnogroup:x:%d:\n", gid, nobody)
}
