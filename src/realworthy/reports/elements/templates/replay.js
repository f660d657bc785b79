// Robots in three dimensions, with WebGL 2: the last one solid, the others as ghosts.
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const FIELD = 40 * Math.PI / 180;
const FIRST_VIEW = { azimuth: Math.atan2(-1.5, 0.9), height: 0.33, zoom: 1 };
const CORNERS = `#version 300 es
uniform mat4 camera; uniform vec3 place; uniform vec4 turn; uniform float unit;
in vec3 corner; out vec3 world;
void main() {
  vec3 v = corner * unit;
  world = place + v + 2.0 * cross(turn.yzw, cross(turn.yzw, v) + turn.x * v);
  gl_Position = camera * vec4(world, 1.0);
}`;
const COLOURS = `#version 300 es
precision highp float;
uniform vec3 colour, eye, middle; uniform float ghost, flatness, reach;
in vec3 world; out vec4 pixel;
void main() {
  if (flatness > 0.5) {
    float fade = 1.0 - smoothstep(0.35, 1.0, distance(world, middle) / reach);
    pixel = vec4(colour * fade, fade); return;
  }
  vec3 normal = normalize(cross(dFdx(world), dFdy(world)));
  vec3 look = normalize(eye - world);
  if (dot(normal, look) < 0.0) normal = -normal;
  float facing = dot(normal, look);
  float light = 0.50 + 0.38 * facing + 0.26 * max(0.0, dot(normal, normalize(vec3(-0.4, 0.5, 1.0))));
  vec3 lit = min(colour * light + 0.10 * pow(facing, 8.0), 1.0);
  float alpha = ghost > 0.5 ? 0.30 + 0.55 * pow(1.0 - facing, 1.6) : 1.0;
  pixel = vec4((ghost > 0.5 ? colour : lit) * alpha, alpha);
}`;

function unpack(text, kind) {
  return new kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

function readRgb(name) {
  const digits = readColour(name).slice(1);
  return [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16) / 255);
}

const subtract = (a, b) => a.map((x, i) => x - b[i]);
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unitOf = (a) => a.map((x) => x / Math.hypot(...a));

// (16,) from the world to the picture, column after column.
function aim(eye, middle, aspect, near, far) {
  const back = unitOf(subtract(eye, middle));
  const right = unitOf(cross([0, 0, 1], back));
  const up = cross(back, right);
  const y = 1 / Math.tan(FIELD / 2), x = y / aspect;
  const depth = (near + far) / (near - far), shift = 2 * near * far / (near - far);
  const columns = [];
  for (let i = 0; i < 3; i++) {
    columns.push(x * right[i], y * up[i], depth * back[i], -back[i]);
  }
  const moved = dot(back, eye);
  columns.push(-x * dot(right, eye), -y * dot(up, eye), -depth * moved + shift, moved);
  return columns;
}

class Drawing {
  constructor(gl, scene) {
    this.gl = gl;
    this.scene = scene;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, CORNERS], [gl.FRAGMENT_SHADER, COLOURS]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "corner");
    gl.linkProgram(program);
    gl.useProgram(program);
    this.at = {};
    for (const name of ["camera", "place", "turn", "unit", "colour", "eye", "middle", "ghost", "flatness", "reach"]) {
      this.at[name] = gl.getUniformLocation(program, name);
    }
    const load = (one) => this.load(
      unpack(one.vertices, Int16Array), one.unit,
      unpack(one.triangles, one.bits === 16 ? Uint16Array : Uint32Array));
    this.shapes = scene.shapes.map(load);
    this.fixed = scene.fixed.map(load);
    this.grid = this.load(this.layGrid(), 1, null);
  }

  load(vertices, unit, triangles) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, vertices instanceof Int16Array ? gl.SHORT : gl.FLOAT, false, 0, 0);
    if (triangles) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
    }
    const type = triangles instanceof Uint32Array ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT;
    return { array, unit, type, count: (triangles || vertices).length / (triangles ? 1 : 3) };
  }

  // Lines 1, 2 or 5 of some power of ten apart, four radii to each side.
  layGrid() {
    const wanted = this.scene.radius / 2, power = 10 ** Math.floor(Math.log10(wanted));
    this.cell = [5, 2, 1].map((n) => n * power).find((n) => n <= wanted);
    const half = Math.ceil(4 * this.scene.radius / this.cell), ends = [];
    for (let i = -half; i <= half; i++) {
      const a = i * this.cell, b = half * this.cell;
      ends.push(a, -b, 0, a, b, 0, -b, a, 0, b, a, 0);
    }
    return new Float32Array(ends);
  }

  draw(frame, view, shown) {
    const { gl, at, scene } = this, canvas = gl.canvas;
    const aspect = canvas.width / canvas.height;
    const middle = [...scene.centre];
    if (scene.base !== null) {
      const now = frame.robots[0].place(scene.base), first = frame.first.place(scene.base);
      middle[0] += now[0] - first[0];
      middle[1] += now[1] - first[1];
    }
    const away = 0.84 * scene.radius / Math.sin(FIELD / 2) * Math.max(1, 0.8 / aspect) / view.zoom;
    const flat = Math.cos(view.height);
    const eye = [
      middle[0] + away * flat * Math.cos(view.azimuth),
      middle[1] + away * flat * Math.sin(view.azimuth),
      middle[2] + away * Math.sin(view.height)];
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.colorMask(true, true, true, true);
    gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.depthFunc(gl.LEQUAL);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniformMatrix4fv(at.camera, false, aim(eye, middle, aspect, away / 50, away + 12 * scene.radius));
    gl.uniform3fv(at.eye, eye);
    gl.uniform1f(at.reach, 4 * scene.radius);
    const solid = shown.length - 1;
    const parts = shown.map((isShown, i) => isShown ? frame.robots[i] : null);
    const drawSolid = () => {
      gl.uniform1f(at.ghost, 0);
      gl.uniform3fv(at.colour, readRgb("unexplained"));
      for (const shape of this.fixed) this.drawShape(shape, [0, 0, 0], [1, 0, 0, 0]);
      if (parts[solid]) this.drawRobot(parts[solid]);
    };
    gl.uniform1f(at.flatness, 0);
    drawSolid();
    this.drawFloors(middle, away);
    for (let i = 0; i < solid; i++) {
      if (!parts[i]) continue;
      // a ghost hides its own inside, is hidden by solid things, and by no other ghost
      gl.clear(gl.DEPTH_BUFFER_BIT);
      gl.colorMask(false, false, false, false);
      drawSolid();
      gl.enable(gl.POLYGON_OFFSET_FILL);
      gl.polygonOffset(2, 8);
      gl.uniform1f(at.ghost, 1);
      this.drawRobot(parts[i]);
      gl.colorMask(true, true, true, true);
      this.drawRobot(parts[i]);
      gl.disable(gl.POLYGON_OFFSET_FILL);
    }
  }

  drawRobot(robot) {
    this.gl.uniform3fv(this.at.colour, readRgb(robot.role));
    this.shapes.forEach((shape, i) => this.drawShape(shape, robot.place(i), robot.turn(i)));
  }

  drawShape(shape, place, turn) {
    const { gl, at } = this;
    gl.uniform3fv(at.place, place);
    gl.uniform4fv(at.turn, turn);
    gl.uniform1f(at.unit, shape.unit);
    gl.bindVertexArray(shape.array);
    gl.drawElements(gl.TRIANGLES, shape.count, shape.type, 0);
  }

  drawFloors(middle) {
    const { gl, at } = this;
    gl.uniform1f(at.flatness, 1);
    gl.uniform1f(at.unit, 1);
    gl.uniform3fv(at.colour, readRgb("unexplained").map((x, i) => (x + readRgb("line")[i]) / 2));
    gl.depthMask(false);
    for (const [place, turn] of this.scene.floors) {
      const near = [...place];
      for (const i of [0, 1]) near[i] += Math.round((middle[i] - place[i]) / this.cell) * this.cell;
      gl.uniform3fv(at.middle, [middle[0], middle[1], near[2]]);
      gl.uniform3fv(at.place, near);
      gl.uniform4fv(at.turn, turn);
      gl.bindVertexArray(this.grid.array);
      gl.drawArrays(gl.LINES, 0, this.grid.count);
    }
    gl.depthMask(true);
    gl.uniform1f(at.flatness, 0);
  }
}

// Poses of one robot between two frames.
class Pose {
  constructor(robot, scene, frame, part) {
    const count = scene.shapes.length;
    this.role = robot.role;
    this.place = (i) => [0, 1, 2].map((k) => {
      const [a, b] = [frame, frame + (part > 0)].map((f) => robot.positions[(f * count + i) * 3 + k]);
      return (a + part * (b - a)) * scene.unit + scene.centre[k];
    });
    this.turn = (i) => {
      const [a, b] = [frame, frame + (part > 0)].map(
        (f) => Array.from(robot.quaternions.subarray((f * count + i) * 4, (f * count + i) * 4 + 4)));
      const sign = dot(a, b) < 0 ? -1 : 1;
      return unitOf(a.map((x, k) => x + part * (sign * b[k] - x)));
    };
  }
}

class Replay {
  constructor(figure) {
    this.figure = figure;
    this.canvas = figure.querySelector("canvas");
    this.slider = figure.querySelector("input[type=range]");
    this.scene = JSON.parse(figure.querySelector(".scene").textContent);
    for (const robot of this.scene.robots) {
      robot.positions = unpack(robot.position, Int16Array);
      robot.quaternions = unpack(robot.quaternion, Int16Array);
    }
    this.view = { ...FIRST_VIEW };
    this.time = this.scene.time[0];
    this.isPlaying = !calm.matches;
    this.isSeen = false;
    this.isAsked = false;
    this.boxes = [...figure.querySelectorAll("[data-robot]")];
    if (!this.start()) return;
    this.listen();
    this.setPlaying(this.isPlaying);
  }

  start() {
    const gl = this.canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    this.figure.querySelector(".absent").hidden = Boolean(gl);
    for (const part of this.figure.querySelectorAll(".live")) part.hidden = !gl;
    if (!gl) return false;
    this.drawing = new Drawing(gl, this.scene);
    return true;
  }

  listen() {
    const { canvas, figure, slider } = this;
    const actions = {
      play: () => this.setPlaying(!this.isPlaying),
      moment: () => { this.setPlaying(false); this.show(this.scene.time[this.scene.moment]); },
      closer: () => this.look({ zoom: this.view.zoom * 1.25 }),
      farther: () => this.look({ zoom: this.view.zoom / 1.25 }),
      reset: () => this.look(FIRST_VIEW),
    };
    for (const button of figure.querySelectorAll("button")) {
      button.addEventListener("click", actions[button.dataset.do]);
    }
    slider.addEventListener("input", () => { this.setPlaying(false); this.show(Number(slider.value)); });
    for (const box of this.boxes) box.addEventListener("change", () => this.ask());
    canvas.addEventListener("keydown", (event) => {
      const { azimuth, height, zoom } = this.view;
      const turned = {
        ArrowLeft: { azimuth: azimuth - 0.15 }, ArrowRight: { azimuth: azimuth + 0.15 },
        ArrowUp: { height: height + 0.1 }, ArrowDown: { height: height - 0.1 },
        "+": { zoom: zoom * 1.25 }, "=": { zoom: zoom * 1.25 }, "-": { zoom: zoom / 1.25 },
      }[event.key];
      if (turned) this.look(turned);
      else if (event.key === " ") this.setPlaying(!this.isPlaying);
      else return;
      event.preventDefault();
    });
    const fingers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const other = [...fingers.values()].find((one) => one.pointerId !== event.pointerId);
      const { azimuth, height, zoom } = this.view;
      const turned = {
        azimuth: azimuth - 0.008 * (event.clientX - before.clientX),
        height: height + 0.006 * (event.clientY - before.clientY),
      };
      if (other) {
        const [wide, was] = [event, before].map(
          (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY));
        turned.zoom = zoom * wide / Math.max(was, 1);
      }
      fingers.set(event.pointerId, event);
      this.look(turned);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    }
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.look({ zoom: this.view.zoom * Math.exp(-0.0015 * event.deltaY) });
    }, { passive: false });
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { if (this.start()) this.ask(); });
    new ResizeObserver(() => this.ask()).observe(canvas);
    new IntersectionObserver(([entry]) => { this.isSeen = entry.isIntersecting; this.ask(); }).observe(canvas);
    dark.addEventListener("change", () => this.ask());
    for (const name of ["beforeprint", "afterprint"]) addEventListener(name, () => this.paint());
  }

  look(turned) {
    Object.assign(this.view, turned);
    this.view.height = Math.min(1.5, Math.max(-1.2, this.view.height));
    this.view.zoom = Math.min(12, Math.max(0.25, this.view.zoom));
    this.ask();
  }

  setPlaying(isPlaying) {
    this.isPlaying = isPlaying;
    this.figure.querySelector("[data-do=play]").textContent = isPlaying ? "Pause" : "Play";
    this.last = undefined;
    this.ask();
  }

  show(time) {
    this.time = time;
    this.slider.value = time;
    this.slider.setAttribute("aria-valuetext", time.toFixed(2) + " s");
    this.figure.querySelector("output").textContent = time.toFixed(2) + "\u00a0s";
    this.ask();
  }

  ask() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame((now) => { this.isAsked = false; this.step(now); });
  }

  step(now) {
    if (this.isPlaying && this.isSeen) {
      const { time } = this.scene, end = time[time.length - 1];
      const speed = Number(this.figure.querySelector("select").value);
      const passed = this.last === undefined ? 0 : Math.min(now - this.last, 100) / 1000 * speed;
      this.last = now;
      this.show(this.time >= end ? time[0] : Math.min(this.time + passed, end));
    } else {
      this.last = undefined;
    }
    if (this.isSeen) this.paint();
  }

  paint() {
    const { canvas, scene } = this, ratio = Math.min(devicePixelRatio || 1, 2);
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight].map((x) => Math.round(x * ratio));
    if (!wide || !high || this.drawing.gl.isContextLost()) return;
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    const after = scene.time.findIndex((time) => time > this.time);
    const frame = after < 0 ? scene.time.length - 1 : Math.max(after - 1, 0);
    const part = after < 1 ? 0 : (this.time - scene.time[frame]) / (scene.time[after] - scene.time[frame]);
    const robots = scene.robots.map((robot) => new Pose(robot, scene, frame, part));
    const shown = scene.robots.map((_, i) => !this.boxes.length || this.boxes[i].checked);
    this.drawing.draw({ robots, first: new Pose(scene.robots[0], scene, 0, 0) }, this.view, shown);
  }
}

for (const figure of document.querySelectorAll(".replay")) new Replay(figure);
