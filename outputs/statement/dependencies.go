package statement

import "strings"

// The digests of in-toto's DigestSet that scidex-oci defines: docs/replay.md says how they are made.
const (
	contentDigest = "scidex_content_v1"
	listingDigest = "scidex_listing_v1"
	rootDigest    = "scidex_rootfs_v1"
)

// dependencies are what the run was made of, as SLSA's resolvedDependencies: the script, the standard input, each input, the root
// filesystem and its list of packages.
func dependencies(r object) []any {
	all := []any{}
	for _, kept := range []string{"script", "stdin"} {
		if digest := inside(r, kept, "sha256"); digest != nil {
			all = append(all, object{"name": kept, "digest": sha256Of(digest)})
		}
	}
	inputs, _ := r["inputs"].([]any)
	for _, one := range inputs {
		if in, ok := one.(object); ok {
			all = append(all, input(in))
		}
	}
	return append(all, root(r)...)
}

// input is an input of the host, named by its place in the container.
func input(in object) object {
	d := object{"name": "input " + text(in["destination"]), "annotations": in}
	digest := object{}
	if hex, ok := strings.CutPrefix(text(in["source"]), "sha256:"); ok { // a blob
		digest["sha256"] = hex
	}
	if in["sha256"] != nil {
		digest[kindOf(in)] = in["sha256"]
	}
	if len(digest) > 0 {
		d["digest"] = digest
	}
	return d
}

func kindOf(in object) string {
	if in["digested"] == "listing" {
		return listingDigest
	}
	return contentDigest
}

// root is the root filesystem: an image by its manifest, its unpacked tree and its packages; else only its name.
func root(r object) []any {
	tree := object{"name": "rootfs", "annotations": object{"rootfs": inside(r, "sandbox", "rootfs")}}
	all := []any{tree}
	if digest := text(inside(r, "sandbox", "rootfs_digest")); digest != "" {
		tree["digest"] = object{rootDigest: bare(digest)}
	}
	if reference := text(inside(r, "sandbox", "rootfs_reference")); reference != "" {
		image := object{"name": "image", "uri": "oci://" + reference}
		if _, digest, ok := strings.Cut(reference, "@sha256:"); ok {
			image["digest"] = sha256Of(digest)
		}
		all = append(all, image)
	}
	if digest := text(inside(r, "sandbox", "packages_digest")); digest != "" {
		all = append(all, object{"name": "packages", "digest": sha256Of(bare(digest))})
	}
	return all
}

// bare is a digest without its algorithm.
func bare(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

// logs are the kept streams, as SLSA's byproducts.
func logs(r object) []any {
	all := []any{}
	for _, stream := range []string{"stdout", "stderr"} {
		if digest := text(inside(r, "logs", stream, "sha256")); digest != "" {
			kept := object{"bytes": inside(r, "logs", stream, "bytes"), "truncated": inside(r, "logs", stream, "truncated")}
			all = append(all, object{"name": stream, "digest": sha256Of(digest), "annotations": kept})
		}
	}
	return all
}
