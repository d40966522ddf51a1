package strictzip

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write packs files as a crate is packed, "stored/..." without compression.
func write(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasSuffix(name, "/") {
			h.SetMode(fs.ModeDir | 0o755)
		}
		if strings.HasPrefix(name, "stored") {
			content := []byte("contents of " + name)
			h.Method, h.CRC32, h.CompressedSize64, h.UncompressedSize64 = zip.Store, crc32.ChecksumIEEE(content), uint64(len(content)), uint64(len(content))
			to, err := w.CreateRaw(h)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = to.Write(content)
			continue
		}
		to, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			fmt.Fprintf(to, "contents of %s", name)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contents reads an archive as Open does.
func contents(data []byte) (map[string]string, error) {
	files, err := read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, f := range files {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		all[f.Name] = string(text)
	}
	return all, nil
}

// streamed reads an archive from its beginning as a program does that gets it from a pipe: by local headers only.
func streamed(data []byte) (map[string]string, error) {
	all := map[string]string{}
	for len(data) > 30 && binary.LittleEndian.Uint32(data) == 0x04034b50 {
		flags, method := binary.LittleEndian.Uint16(data[6:]), binary.LittleEndian.Uint16(data[8:])
		packed, names, extras := uint64(binary.LittleEndian.Uint32(data[18:])), int(binary.LittleEndian.Uint16(data[26:])), int(binary.LittleEndian.Uint16(data[28:]))
		if len(data) < 30+names+extras {
			return nil, io.ErrUnexpectedEOF
		}
		name, x := string(data[30:30+names]), readExtra(data[30+names:30+names+extras])
		if packed == saturated && len(x.zip64) >= 16 {
			packed = binary.LittleEndian.Uint64(x.zip64[8:])
		}
		data = data[30+names+extras:]
		from := bytes.NewReader(data)
		var text []byte
		var err error
		switch {
		case method == zip.Deflate:
			if text, err = io.ReadAll(flate.NewReader(from)); err != nil {
				return nil, err
			}
			data = data[len(data)-from.Len():]
		case packed > uint64(len(data)):
			return nil, io.ErrUnexpectedEOF
		default:
			text, data = data[:packed], data[packed:]
		}
		if flags&flagDescriptor != 0 {
			size := 16
			if x.zip64 != nil {
				size = 24
			}
			if len(data) < size {
				return nil, io.ErrUnexpectedEOF
			}
			data = data[size:]
		}
		all[name] = string(text)
	}
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != 0x02014b50 && binary.LittleEndian.Uint32(data) != 0x06054b50 {
		return nil, fmt.Errorf("no directory follows")
	}
	return all, nil
}

// TestReadsArchivesOfOtherPrograms: archives of several programs are read, and in the same way from the beginning.
func TestReadsArchivesOfOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(name string, words ...string) []byte {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = at("files")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
		data, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, name := range []string{"a", "sub/b", "sub/c"} {
		if err := os.MkdirAll(filepath.Dir(at("files/"+name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at("files/"+name), []byte(strings.Repeat("contents of "+name+"\n", 100)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const python = `import sys, zipfile
with open(sys.argv[1], "wb") as f:
    if sys.argv[2] == "pipe": f.seekable, f.tell, f.seek = (lambda: False), None, None
    with zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED) as z:
        z.mkdir("sub") if hasattr(z, "mkdir") else None
        for name in ("a", "sub/b", "sub/é"):
            with z.open(name, "w", force_zip64=sys.argv[2] == "zip64") as to: to.write(name.encode() * 100)
`
	for title, data := range map[string][]byte{
		"ours":          write(t, "a", "sub/b", "sub/é", "stored/c"),
		"directories":   write(t, "sub/", "sub/b", "other/"),
		"empty":         write(t),
		"zip":           run("zip.zip", "zip", "-qr", at("zip.zip"), "."),
		"zip stored":    run("zip0.zip", "zip", "-qr0", at("zip0.zip"), "."),
		"zip piped":     run("piped.zip", "sh", "-c", "zip -qr - . | cat >../piped.zip"),
		"zip zip64":     run("zip64.zip", "zip", "-qr", "-fz", at("zip64.zip"), "."),
		"python":        run("python.zip", "python3", "-c", python, at("python.zip"), "file"),
		"python, zip64": run("python64.zip", "python3", "-c", python, at("python64.zip"), "zip64"),
	} {
		got, err := contents(data)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		again, err := streamed(data)
		if err != nil || !maps.Equal(got, again) {
			t.Errorf("%s: %q, and from the beginning %q, %v", title, got, again, err)
		}
	}
}

// header finds the header of a name, the local one or that of the directory.
func header(t testing.TB, data []byte, signature, name string) []byte {
	t.Helper()
	length := map[string]int{"PK\x03\x04": 30, "PK\x01\x02": 46}[signature]
	for at := range data {
		if bytes.HasPrefix(data[at:], []byte(signature)) && bytes.HasPrefix(data[min(at+length, len(data)):], []byte(name)) {
			return data[at:]
		}
	}
	t.Fatalf("no header of %s", name)
	return nil
}

// TestRefused: each archive that tools read in different ways is refused with the reason.
func TestRefused(t *testing.T) {
	local := func(t *testing.T, data []byte) []byte { return header(t, data, "PK\x03\x04", "stored/b") }
	central := func(t *testing.T, data []byte) []byte { return header(t, data, "PK\x01\x02", "stored/b") }
	both := func(at, in int, to ...byte) func(*testing.T, []byte) []byte {
		return func(t *testing.T, data []byte) []byte {
			copy(local(t, data)[at:], to)
			copy(central(t, data)[in:], to)
			return data
		}
	}
	end := func(data []byte) []byte { return data[len(data)-endSize:] }
	le := binary.LittleEndian
	// moved adapts the directory's offset, and those in its entries, after so many bytes were put in front.
	moved := func(data []byte, by int) []byte {
		e := end(data)
		start := int(le.Uint32(e[16:]))
		le.PutUint32(e[16:], uint32(start+by))
		for at := start; at < len(data)-endSize; {
			le.PutUint32(data[at+42:], le.Uint32(data[at+42:])+uint32(by))
			at += 46 + int(le.Uint16(data[at+28:])) + int(le.Uint16(data[at+30:])) + int(le.Uint16(data[at+32:]))
		}
		return data
	}
	insert := func(data []byte, at int, more string) []byte {
		return append(append(append([]byte{}, data[:at]...), more...), data[at:]...)
	}
	for title, test := range map[string]struct {
		change func(*testing.T, []byte) []byte
		why    string
	}{
		"another name in front":    {func(t *testing.T, d []byte) []byte { copy(local(t, d)[30:], "stored/B"); return d }, "names \"stored/B\""},
		"another size in front":    {func(t *testing.T, d []byte) []byte { local(t, d)[22]++; return d }, "other sizes"},
		"another packed size":      {func(t *testing.T, d []byte) []byte { local(t, d)[18]++; return d }, "other sizes"},
		"another checksum":         {func(t *testing.T, d []byte) []byte { local(t, d)[14]++; return d }, "other sizes"},
		"another method":           {func(t *testing.T, d []byte) []byte { local(t, d)[8] = 8; return d }, "another method"},
		"other flags":              {func(t *testing.T, d []byte) []byte { local(t, d)[7] ^= 8; return d }, "other flags"},
		"another time":             {func(t *testing.T, d []byte) []byte { local(t, d)[10]++; return d }, "another time"},
		"no header":                {func(t *testing.T, d []byte) []byte { local(t, d)[0]++; return d }, "no header is in front"},
		"encrypted":                {both(6, 8, 1), "encrypted"},
		"strongly encrypted":       {both(6, 8, 0x41), "encrypted"},
		"patched":                  {both(6, 8, 0x20), "encrypted"},
		"masked headers":           {both(7, 9, 0x20), "encrypted"},
		"bzip2":                    {both(8, 10, 12), "method 12"},
		"stored without sizes":     {both(6, 8, 8), "stored without its size"},
		"a prefix":                 {func(_ *testing.T, d []byte) []byte { return append([]byte("#!/bin/sh\n"), d...) }, "does not lie in front"},
		"a prefix that is counted": {func(_ *testing.T, d []byte) []byte { return append([]byte("#!/bin/sh\n"), moved(d, 10)...) }, "begins at byte 10 and not at 0"},
		"a suffix":                 {func(_ *testing.T, d []byte) []byte { return append(d, 0) }, "something follows the end"},
		"a comment":                {func(_ *testing.T, d []byte) []byte { end(d)[20] = 5; return append(d, "hello"...) }, "something follows the end"},
		"a comment that is an end": {func(_ *testing.T, d []byte) []byte { e := bytes.Clone(end(d)); end(d)[20] = 22; return append(d, e...) }, "does not lie in front"},
		"two archives":             {func(t *testing.T, d []byte) []byte { return append(d, write(t, "other")...) }, "does not lie in front"},
		"two archives, counted":    {func(t *testing.T, d []byte) []byte { return append(d, moved(write(t, "other"), len(d))...) }, "and not at 0"},
		"a gap": {func(_ *testing.T, d []byte) []byte {
			at := int(le.Uint32(end(d)[16:]))
			le.PutUint32(end(d)[16:], uint32(at+1))
			return insert(d, at, "x")
		}, "where the last file ends"},
		"a hidden file": {func(_ *testing.T, d []byte) []byte {
			at := int(le.Uint32(end(d)[16:]))
			le.PutUint32(end(d)[16:], uint32(at+4))
			return insert(d, at, "PK\x03\x04")
		}, "where the last file ends"},
		"a gap before the end":      {func(_ *testing.T, d []byte) []byte { return insert(d, len(d)-endSize, "x") }, "does not lie in front"},
		"more in the directory":     {func(_ *testing.T, d []byte) []byte { d = insert(d, len(d)-endSize, "x"); end(d)[12]++; return d }, "more than its entries"},
		"fewer entries":             {func(_ *testing.T, d []byte) []byte { end(d)[8]--; end(d)[10]--; return d }, "more than its entries"},
		"more entries":              {func(_ *testing.T, d []byte) []byte { end(d)[8]++; end(d)[10]++; return d }, "EOF"},
		"two counts":                {func(_ *testing.T, d []byte) []byte { end(d)[8]--; return d }, "several parts"},
		"several parts":             {func(_ *testing.T, d []byte) []byte { end(d)[4] = 1; return d }, "several parts"},
		"in another part":           {func(t *testing.T, d []byte) []byte { central(t, d)[34] = 1; return d }, "in another part"},
		"zip64 without its record":  {func(_ *testing.T, d []byte) []byte { copy(end(d)[8:], "\xff\xff\xff\xff"); return d }, "disagree"},
		"an overlap":                {func(t *testing.T, d []byte) []byte { le.PutUint32(central(t, d)[42:], 0); return d }, "and not at"},
		"no zip64 field":            {func(t *testing.T, d []byte) []byte { copy(central(t, d)[42:], "\xff\xff\xff\xff"); return d }, "zip64 field"},
		"the descriptor":            {func(t *testing.T, d []byte) []byte { header(t, d, "PK\x03\x04", "a")[30+1+19+4]++; return d }, "what follows it"},
		"a directory by attributes": {func(t *testing.T, d []byte) []byte { central(t, d)[38] |= 0x10; return d }, "whether it is a directory"},
		"a directory by its mode":   {func(t *testing.T, d []byte) []byte { central(t, d)[41] = 0x41; return d }, "whether it is a directory"},
		"a link made on Windows":    {func(t *testing.T, d []byte) []byte { central(t, d)[5], central(t, d)[41] = 0, 0xa1; return d }, "a type that not all tools know"},
		"a backslash":               {both(30, 46, []byte("stored\\b")...), "a backslash"},
		"a NUL":                     {both(30, 46, []byte("stored\x00b")...), "a control character"},
		"not UTF-8":                 {both(30, 46, []byte("stored/\xff")...), "not UTF-8"},
		"not marked as UTF-8":       {both(30, 46, []byte("stored\xc3\xa9")...), "not marked as UTF-8"},
		"absolute":                  {both(30, 46, []byte("/tored/b")...), "absolute"},
		"dots":                      {both(30, 46, []byte("../red/b")...), "absolute, or has"},
		"a dot":                     {both(30, 46, []byte("stor/./b")...), "absolute, or has"},
		"an empty part":             {both(30, 46, []byte("stor//db")...), "absolute, or has"},
		"a drive":                   {both(30, 46, []byte("C:ored/b")...), "a drive"},
		"twice":                     {both(30, 46, []byte("stored/c")...), "\"stored/c\" is there more than once"},
		"contents of a directory":   {both(30, 46, []byte("stored/b/"[1:])...), "a directory"},
		"a file and a directory":    {both(30, 46, []byte("a/ored/b")...), "\"a\" is a file and a directory"},
	} {
		t.Run(title, func(t *testing.T) {
			data := test.change(t, write(t, "a", "stored/b", "stored/c"))
			if got, err := contents(data); err == nil || !strings.Contains(err.Error(), test.why) {
				t.Errorf("%q, %v, want %q", got, err, test.why)
			}
		})
	}
}

// packed writes one entry by hand, with extra fields in both headers and its packed contents.
func packed(name, inLocal, inCentral string, contents []byte, crc uint32, size int) []byte {
	le := binary.LittleEndian
	common := le.AppendUint32(le.AppendUint32(le.AppendUint32([]byte{0, 0, 8, 0, 0, 0, 0, 0}, crc), uint32(len(contents))), uint32(size))
	common = le.AppendUint16(common, uint16(len(name)))
	local := append([]byte("PK\x03\x04\x14\x00"), common...)
	local = append(append(le.AppendUint16(local, uint16(len(inLocal))), name...), inLocal...)
	local = append(local, contents...)
	central := append([]byte("PK\x01\x02\x14\x03\x14\x00"), common...)
	central = append(le.AppendUint16(central, uint16(len(inCentral))), make([]byte, 14)...)
	central = append(append(central, name...), inCentral...)
	end := append([]byte("PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00"), le.AppendUint32(le.AppendUint32(nil, uint32(len(central))), uint32(len(local)))...)
	return append(append(append(local, central...), end...), 0, 0)
}

// TestFields: extra fields that give a file another name or other sizes, and what follows its compressed data.
func TestFields(t *testing.T) {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed)
	_, _ = w.Write([]byte("text"))
	_ = w.Close()
	stream, crc := b.Bytes(), crc32.ChecksumIEEE([]byte("text"))
	unicode := func(of, name string) string {
		return "\x75\x70" + string([]byte{byte(5 + len(name)), 0, 1}) + string(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(of)))) + name
	}
	const zip64 = "\x01\x00\x10\x00\x04\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
	for title, test := range map[string]struct {
		local, central string
		contents       []byte
		why            string // "": taken
	}{
		"none":                        {"", "", stream, ""},
		"times":                       {"UT\x05\x00\x01abcd", "UT\x05\x00\x01abcd", stream, ""},
		"the same name":               {unicode("name", "name"), unicode("name", "name"), stream, ""},
		"another name":                {unicode("name", "evil"), unicode("name", "evil"), stream, "a second name"},
		"another name in front":       {unicode("name", "evil"), "", stream, "a second name"},
		"another name in the list":    {"", unicode("name", "evil"), stream, "a second name"},
		"a name of no version":        {"", "\x75\x70\x00\x00", stream, "a second name"},
		"sizes twice":                 {zip64, "", stream, "sizes twice"},
		"sizes twice in the list":     {"", zip64, stream, "zip64 field"},
		"of AES":                      {"", "\x01\x99\x00\x00", stream, "an extra field that"},
		"of ASi's links":              {"nu\x00\x00", "", stream, "an extra field that"},
		"longer than it is":           {"", "UT\x05\x00abcd", stream, "damaged"},
		"twice":                       {"", "UT\x00\x00UT\x00\x00", stream, "damaged"},
		"cut":                         {"UT\x00", "", stream, "damaged"},
		"data after the stream's end": {"", "", append(bytes.Clone(stream), "PK\x03\x04"...), "end before it does"},
		"half a stream":               {"", "", stream[:len(stream)-1], "EOF"},
	} {
		got, err := contents(packed("name", test.local, test.central, test.contents, crc, 4))
		if (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) || err == nil && got["name"] != "text" {
			t.Errorf("%s: %q, %v, want %q", title, got, err, test.why)
		}
	}
}

// FuzzOneReading: an accepted archive has the same files for a program that reads it from its beginning.
func FuzzOneReading(f *testing.F) {
	f.Add(write(f, "a", "sub/", "sub/b", "stored/c"))
	f.Add(write(f))
	f.Add(write(f, "é"))
	f.Add(packed("name", "UT\x05\x00\x01abcd", "", []byte{3, 0}, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		got, err := contents(data)
		if err != nil {
			return
		}
		again, err := streamed(data)
		if err != nil || !maps.Equal(got, again) {
			t.Errorf("%q, and from the beginning %q, %v", got, again, err)
		}
	})
}
