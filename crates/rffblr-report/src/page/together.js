// The figure of how targets go together.

const TOGETHER_FIGURES = [
  {
    section: "together",
    id: "correlation",
    once: true,
    title: "Correlation of targets",
    wide: true,
    read:
      "Left: of the targets as observed; middle: of what the model predicts; right: of what it misses. Blue " +
      "goes together, orange against each other; colour at the right is what the inputs do not explain.",
    needs: (facts) => (facts.targets.length < 2 ? "There is one target only." : facts.together ? null : NEEDS_DATA),
    table: correlationOf,
    draw(facts, task, width) {
      const shown = facts.targets.length;
      const size = width < 700 ? Math.min(width, 420) : (width - 32) / 3;
      return element(
        "div",
        { className: "side" },
        ...["targets", "signal", "residuals"].map((view) => {
          const cells = correlationOf(facts).filter((d) => d.view === view);
          const title = { targets: "Observed", signal: "Predicted", residuals: "Missed (leave-one-out residuals)" }[
            view
          ];
          const room = Math.min(90, size / 3.2);
          const upright = facts.targets.some((name) => name.length * 7 > (size - room) / shown);
          return element(
            "div",
            {},
            element("h4", { textContent: title }),
            plot(size, {
              height: Math.min(size + (upright ? 60 : 0), room + shown * 44),
              marginLeft: room,
              marginBottom: upright ? 92 : 34,
              x: {
                label: null,
                domain: facts.targets,
                tickFormat: clipped(upright ? 11 : Math.max(3, Math.floor((size - room) / shown / 8))),
                tickSize: 0,
                tickRotate: upright ? -90 : 0,
              },
              y: { label: null, domain: facts.targets, tickFormat: clipped(11), tickSize: 0 },
              color: { type: "identity" },
              opacity: { type: "identity" },
              marks: [
                Plot.cell(cells, {
                  x: "one",
                  y: "other",
                  inset: 0.5,
                  fill: (d) => (d.correlation >= 0 ? "var(--one)" : "var(--two)"),
                  fillOpacity: (d) => Math.abs(d.correlation ?? 0),
                  tip: true,
                  title: (d) => `${d.one} and ${d.other}\n${short(d.correlation)}`,
                }),
                ...(shown <= 8
                  ? [
                      Plot.text(cells, {
                        x: "one",
                        y: "other",
                        text: (d) => (d.correlation === null ? "–" : d.correlation.toFixed(2)),
                        fill: (d) => cellText(Math.abs(d.correlation ?? 0)),
                      }),
                    ]
                  : []),
              ],
            }),
          );
        }),
      );
    },
  },
];

function correlationOf(facts) {
  return ["targets", "signal", "residuals"].flatMap((view) =>
    facts.targets.flatMap((one, a) =>
      facts.targets.map((other, b) => ({ view, one, other, correlation: facts.together[view][a][b] })),
    ),
  );
}
