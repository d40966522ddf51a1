package report

import (
	"fmt"
	"math"
	"regexp"
	"testing"
)

// TestContrast holds the colours of text, light, dark and printed, against WCAG 2.2, 1.4.3 (AA): 4.5 to 1.
func TestContrast(t *testing.T) {
	css, err := files.ReadFile("page.css")
	must(t, err)
	palettes := regexp.MustCompile(`:root\{([^}]*)\}`).FindAllSubmatch(css, -1)
	if len(palettes) != 3 {
		t.Fatalf("%d palettes, want light, dark and print", len(palettes))
	}
	for _, palette := range palettes {
		colours := map[string]float64{}
		for _, c := range regexp.MustCompile(`--(\w+):#(\w+)`).FindAllSubmatch(palette[1], -1) {
			colours[string(c[1])] = luminance(t, string(c[2]))
		}
		for _, text := range []string{"fg", "soft", "blue", "green", "red", "amber", "violet", "mark"} {
			for _, ground := range []string{"bg", "plate"} {
				light, dark := max(colours[text], colours[ground]), min(colours[text], colours[ground])
				if ratio := (light + 0.05) / (dark + 0.05); ratio < 4.5 || len(colours) != 11 {
					t.Errorf("%s on %s: %.2f to 1, of %d colours", text, ground, ratio, len(colours))
				}
			}
		}
	}
}

// luminance is the relative luminance of a colour, #rgb or #rrggbb, as WCAG defines it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	var rgb [3]uint8
	_, err := fmt.Sscanf(hex, "%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2])
	must(t, err)
	var linear [3]float64
	for i, c := range rgb {
		if x := float64(c) / 255; x <= 0.04045 {
			linear[i] = x / 12.92
		} else {
			linear[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}
