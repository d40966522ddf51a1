package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchor   = regexp.MustCompile(`<a id="([^"]+)">`)
	unlinked = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	document = regexp.MustCompile(`\bdocs/[A-Za-z0-9_/.-]+\.(?:md|json|ya?ml|sql)(?:#[a-z0-9_-]+)?`)
)

// TestLinks: each link between documents leads to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	links := 0
	for _, file := range sources(t) {
		if filepath.Ext(file) != ".md" {
			continue
		}
		for _, found := range mdLink.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, file), ""), -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
				continue
			}
			links++
			path, name, _ := strings.Cut(found[1], "#")
			leads(t, file, found[1], filepath.Join(filepath.Dir(file), path), name, path == "")
		}
	}
	if links < 100 {
		t.Errorf("found %d links", links)
	}
}

// TestDocumentsThatAreNamed: what help, comments, messages and units call docs/... is there. Outside of this repository a path
// means something else.
func TestDocumentsThatAreNamed(t *testing.T) {
	elsewhere := regexp.MustCompile(`(?:https?://[^\s"')]*|/)$`)
	named := 0
	for _, file := range sources(t) {
		if strings.HasSuffix(file, "links_test.go") {
			continue
		}
		text := read(t, file)
		for _, at := range document.FindAllStringIndex(text, -1) {
			before := text[max(0, at[0]-100):at[0]]
			if elsewhere.MatchString(before) && !strings.HasSuffix(before, "scidex-oci/blob/main/") && !strings.HasSuffix(before, "../") {
				continue
			}
			named++
			path, name, _ := strings.Cut(text[at[0]:at[1]], "#")
			leads(t, file, text[at[0]:at[1]], filepath.Join("../..", path), name, false)
		}
	}
	if named < 50 {
		t.Errorf("found %d names", named)
	}
}

// leads fails if there is no such file, or no heading of that name in it; self is a link within the file.
func leads(t *testing.T, file, link, target, name string, self bool) {
	t.Helper()
	if self {
		target = file
	}
	if matches, err := filepath.Glob(target); err != nil || len(matches) == 0 {
		t.Errorf("%s: %s leads to no file", file, link)
	} else if name != "" && filepath.Ext(target) == ".md" && !slices.Contains(anchors(read(t, target)), name) {
		t.Errorf("%s: %s leads to no heading", file, link)
	}
}

// anchors are the names of a document's headings, as GitHub makes them, and those that it gives itself.
func anchors(text string) (names []string) {
	text = fenced.ReplaceAllString(text, "")
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	for _, found := range anchor.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

// sources are the files that people write, without those of a build and of others.
func sources(t *testing.T) (files []string) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "dist", "node_modules", "vendor", "__pycache__"}, name)):
			return fs.SkipDir
		case entry.Type().IsRegular() && slices.Contains([]string{"", ".md", ".go", ".c", ".h", ".py", ".sql", ".json", ".yaml", ".yml", ".service", ".socket", ".timer", ".conf"}, filepath.Ext(name)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
