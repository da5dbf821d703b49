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
    finding: (facts) => {
      const pairs = correlationOf(facts).filter((d) => d.view === "residuals" && d.a < d.b && d.correlation !== null);
      const most = d3.greatest(pairs, (d) => Math.abs(d.correlation));
      return most
        ? `Of what the model misses, ${most.one} and ${most.other} go together most (correlation ${most.correlation.toFixed(2)}).`
        : "Nothing is known of what the model misses in two targets at once.";
    },
    needs: (facts) => (facts.targets.length < 2 ? "there is one target" : facts.together ? null : NEEDS_DATA),
    table: correlationOf,
    draw(facts, task, width) {
      const shown = facts.targets.length;
      const size = width < 600 ? Math.min(width, 420) : (width - 32) / 3;
      return element(
        "div",
        { className: "side" },
        ...["targets", "signal", "residuals"].map((view) => {
          const cells = correlationOf(facts).filter((d) => d.view === view);
          const title = { targets: "Observed", signal: "Predicted", residuals: "Missed" }[view];
          const names = facts.targets.map((_, c) => targetName(facts, c));
          const { room, ticks } = nameRoom(names, size, 100);
          const column = (size - room) / shown;
          const upright = names.some((name) => widthOf(name) > column - 4);
          return element(
            "div",
            {},
            element("h4", { textContent: title }),
            plot(size, {
              height: Math.min(size + (upright ? 60 : 0), (upright ? 110 : 50) + shown * 44),
              marginLeft: room,
              marginRight: 4,
              marginTop: 4,
              marginBottom: upright ? 100 : 34,
              x: named(shortened(names, upright ? 90 : column - 4), { tickRotate: upright ? -90 : 0 }),
              y: named(ticks),
              color: { type: "identity" },
              opacity: { type: "identity" },
              marks: [
                Plot.cell(cells, {
                  x: "a",
                  y: "b",
                  inset: 0.5,
                  fill: (d) => (d.correlation >= 0 ? "var(--one)" : "var(--two)"),
                  fillOpacity: (d) => tint(Math.abs(d.correlation ?? 0)),
                  tip: true,
                  title: (d) => `${d.one} and ${d.other}\n${short(d.correlation)}`,
                }),
                ...(column > 34
                  ? [
                      Plot.text(cells, {
                        x: "a",
                        y: "b",
                        text: (d) => (d.correlation === null ? "–" : d.correlation.toFixed(2)),
                        fill: "var(--text)",
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
    facts.targets.flatMap((_, a) =>
      facts.targets.map((_, b) => ({
        view,
        one: targetName(facts, a),
        other: targetName(facts, b),
        correlation: facts.together[view][a][b],
        a,
        b,
      })),
    ),
  );
}
