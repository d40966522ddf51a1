package outputs

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

const unknownType = "application/octet-stream"

// byExtension has the types that leading bytes cannot distinguish, and the formats of science. The host's
// /etc/mime.types is not used, so that the answer does not depend on the host. Registered names are from IANA's
// registry, the vnd and x- ones from the formats' own documentation.
func byExtension(ext string) string {
	switch ext {
	case "csv":
		return "text/csv"
	case "tsv", "tab":
		return "text/tab-separated-values"
	case "txt", "log":
		return "text/plain"
	case "md":
		return "text/markdown"
	case "html", "htm":
		return "text/html"
	case "css":
		return "text/css"
	case "js", "mjs":
		return "text/javascript"
	case "py":
		return "text/x-python"
	case "r":
		return "text/x-r"
	case "jl":
		return "text/x-julia"
	case "sh":
		return "application/x-sh"
	case "tex":
		return "text/x-tex"
	case "json", "geojson":
		return "application/json"
	case "jsonl", "ndjson":
		return "application/x-ndjson"
	case "ipynb":
		return "application/x-ipynb+json"
	case "yaml", "yml":
		return "application/yaml"
	case "toml":
		return "application/toml"
	case "xml":
		return "application/xml"
	case "sql":
		return "application/sql"
	case "svg":
		return "image/svg+xml"
	case "png":
		return "image/png"
	case "jpg", "jpeg":
		return "image/jpeg"
	case "gif":
		return "image/gif"
	case "webp":
		return "image/webp"
	case "tif", "tiff":
		return "image/tiff"
	case "pdf":
		return "application/pdf"
	case "zip":
		return "application/zip"
	case "gz", "tgz":
		return "application/gzip"
	case "zst":
		return "application/zstd"
	case "tar":
		return "application/x-tar"
	case "xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case "parquet":
		return "application/vnd.apache.parquet"
	case "arrow":
		return "application/vnd.apache.arrow.file"
	case "feather":
		return "application/vnd.apache.arrow.file"
	case "npy":
		return "application/x-npy"
	case "npz":
		return "application/x-npz"
	case "h5", "hdf5":
		return "application/x-hdf5"
	case "nc":
		return "application/x-netcdf"
	case "mat":
		return "application/x-matlab-data"
	case "nii":
		return "application/x-nifti"
	case "fits":
		return "application/fits"
	case "pkl", "pickle":
		return "application/x-pickle"
	case "db", "sqlite", "sqlite3":
		return "application/vnd.sqlite3"
	}
	return ""
}

// mediaType names the type of a file by the extension of its name, else by its first bytes (at most headBytes). It is a
// label for people, never a promise about the contents.
func mediaType(path, head []byte) string {
	name := path[bytes.LastIndexByte(path, '/')+1:]
	if dot := bytes.LastIndexByte(name, '.'); dot > 0 {
		if t := byExtension(strings.ToLower(string(name[dot+1:]))); t != "" {
			return t
		}
	}
	switch {
	case len(head) == 0:
		return unknownType
	case plain(head):
		return "text/plain"
	}
	return byMagic(head)
}

// plain reports whether a file starts as text and not as one of the formats with text signatures, such as <svg, %PDF or
// #!. The library would parse such a file to recognise JSON or CSV, which is half of the time of a harvest of small
// files. Not text are the binary data bytes of https://mimesniff.spec.whatwg.org.
func plain(head []byte) bool {
	for _, c := range head {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r' && c != 0x1b {
			return false
		}
	}
	begin := bytes.TrimLeft(head, "\t\n\f\r ")
	return len(begin) > 0 && !bytes.ContainsAny(begin[:1], "<%#") && !bytes.HasPrefix(begin, []byte(`{\rtf`)) && utf8.Valid(wholeRunes(begin))
}

// wholeRunes cuts off a character that the end of the head has split.
func wholeRunes(head []byte) []byte {
	for cut := len(head) - 1; cut >= max(0, len(head)-utf8.UTFMax); cut-- {
		if utf8.RuneStart(head[cut]) {
			if !utf8.FullRune(head[cut:]) {
				return head[:cut]
			}
			break
		}
	}
	return head
}

// byMagic is the library's answer. It reads bytes of an adversary: a panic in it must not end the harvest.
func byMagic(head []byte) (t string) {
	defer func() {
		if recover() != nil {
			t = unknownType
		}
	}()
	t, _, _ = strings.Cut(mimetype.Detect(head).String(), ";")
	return t
}
